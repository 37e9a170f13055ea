package preflight

import (
	"context"
	"fmt"
	"strings"

	"seckill/eventstore"
)

// kafkaCarries looks at the topic of the bus, where Kafka is configured.
func kafkaCarries(ctx context.Context, s *Site) []Row {
	const topic, acks = "kafka.topic", "kafka.acks"
	if len(s.Settings.KafkaBrokers) == 0 {
		return []Row{row(topic, OK, "no brokers are configured: messages stay in the process", "as configured", "")}
	}
	want := fmt.Sprintf("%d partitions", eventstore.DefaultShards)
	if s.Kafka == nil {
		return []Row{unseen(topic, want, nil)}
	}
	seen, err := s.Kafka(ctx)
	if err != nil {
		return []Row{row(topic, NoGo, "cannot be looked at: "+err.Error(), want, "bring a broker up, or name the right ones in SECKILL_KAFKA_BROKERS")}
	}
	if seen.Partitions == 0 {
		return []Row{row(topic, Warning, "the topic does not exist yet", want, "the relay makes it when it starts")}
	}
	rows := []Row{row(topic, unless(seen.Partitions >= eventstore.DefaultShards, Warning), fmt.Sprintf("%d partitions", seen.Partitions), want, "raise them (kafka-topics --alter): several shards share one, and fewer projectors have work")}
	state, do := OK, ""
	switch {
	case seen.InSync < seen.MinInSync:
		state, do = NoGo, "a partition has fewer replicas in step than min.insync.replicas: nothing can be published; bring the brokers up"
	case seen.Replicas < 2:
		state, do = Warning, "one broker holds each partition: while it is away the views stand still (nothing is lost, the log has it)"
	}
	return append(rows, row(acks, state, fmt.Sprintf("acks=all; %d replicas, %d of them in step, min.insync.replicas %d", seen.Replicas, seen.InSync, seen.MinInSync), "2 replicas or more in step", do))
}

// tokensCanBeVerified looks at what verifies the buyers' tokens.
func tokensCanBeVerified(ctx context.Context, s *Site) []Row {
	const name = "tokens.keys"
	if s.Settings.JWKSURL == "" {
		from := "a secret that is set"
		if s.Settings.JWTSecret == "" {
			from = "a secret made in the data folder"
		}
		state := unless(s.Settings.JWTSecret != "" || s.Private, Warning)
		return []Row{row(name, state, from, "one secret for all nodes, or a JWKS", "every node must know the same secret: set SECKILL_JWT_SECRET, or SECKILL_JWKS_URL")}
	}
	if s.Keys == nil {
		return []Row{unseen(name, "keys at "+s.Settings.JWKSURL, nil)}
	}
	if err := s.Keys(ctx); err != nil {
		return []Row{row(name, NoGo, err.Error(), "usable keys at "+s.Settings.JWKSURL, "without them nobody is signed in after the next start of a node")}
	}
	return []Row{row(name, OK, "usable keys were read", "usable keys at "+s.Settings.JWKSURL, "")}
}

// pageIsCurrent looks whether the page that buyers are given is the newest.
func pageIsCurrent(ctx context.Context, s *Site) []Row {
	const name = "page.version"
	if s.Page == "" {
		return []Row{unseen(name, "the version of the sale", nil)}
	}
	if s.PageURL == "" {
		return []Row{unseen(name, s.Page+" where buyers find it (name that with --page)", nil)}
	}
	status, text, err := get(ctx, s.PageURL)
	if err != nil {
		return []Row{row(name, NoGo, "cannot be had: "+err.Error(), s.Page, "`seckill export-page --sale "+s.SaleID+" --out DIR`, and bring it to the CDN")}
	}
	good := status == 200 && strings.Contains(text, s.Page)
	seen := fmt.Sprintf("status %d, and the page names version %s", status, s.Page)
	if !good {
		seen = fmt.Sprintf("status %d, and the page does not name version %s", status, s.Page)
	}
	return []Row{row(name, unless(good, Warning), seen, s.Page, "it is of an older version or of another build: `seckill export-page --sale "+s.SaleID+" --out DIR`, and bring it to the CDN")}
}
