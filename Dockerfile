# syntax=docker/dockerfile:1
#
#   docker build --build-arg VERSION=v1.2.3 --build-arg REVISION=$(git rev-parse HEAD) -t seckill .
#
# The image holds one static program, the certificates of public issuers and an empty
# data folder: no shell, no package manager. It runs with a read-only file system; only
# /var/lib/seckill is written, and only where a seal key or statements are kept there.
FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS build
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=""
ARG REVISION=""
ENV GOCACHE=/cache/build GOMODCACHE=/cache/mod
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/cache/mod go mod download
COPY . .
RUN --mount=type=cache,target=/cache/mod --mount=type=cache,target=/cache/build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X seckill/infra/cli.builtVersion=$VERSION -X seckill/infra/cli.builtRevision=$REVISION" \
    -o /out/usr/local/bin/seckill .
RUN mkdir -p /out/etc/ssl/certs /out/var/lib/seckill \
    && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ \
    && echo 'seckill:x:10001:10001::/var/lib/seckill:/nonexistent' > /out/etc/passwd

FROM scratch
ARG VERSION=""
ARG REVISION=""
LABEL org.opencontainers.image.title="seckill" \
      org.opencontainers.image.description="An event-sourced flash-sale engine" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /out/etc /etc
COPY --from=build /out/usr /usr
COPY --from=build --chown=10001:10001 --chmod=0700 /out/var/lib/seckill /var/lib/seckill
USER 10001:10001
ENV SECKILL_HTTP_ADDR=0.0.0.0:8080 SECKILL_DATA_DIR=/var/lib/seckill
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=5 CMD ["/usr/local/bin/seckill", "probe", "--live"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/seckill"]
CMD ["serve"]
