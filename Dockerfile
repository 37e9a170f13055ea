# syntax=docker/dockerfile:1
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /seckill .

FROM alpine:3.22.1
RUN adduser -D -H -u 10001 seckill
COPY --from=build /seckill /usr/local/bin/seckill
USER seckill
ENV SECKILL_HTTP_ADDR=0.0.0.0:8080
EXPOSE 8080
ENTRYPOINT ["seckill"]
CMD ["serve"]
