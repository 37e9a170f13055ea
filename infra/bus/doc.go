// Package bus carries the log from the event store to whoever folds it: the
// relay reads pages, cuts them by shard into batch envelopes and publishes them
// through watermill; the consumers take them off and hand them to one receiver
// per projection and shard.
//
// The bus is one within the process, or Kafka: one topic whose partitions take the
// shards, and a consumer group per projection. Partitions may be added, consumers
// may come, go and die, brokers may be away: the relay waits with its place, and
// no offset decides what was applied. A second kind of relay publishes each record
// as a CloudEvent of its own, for others who do not know our envelope.
//
// It owns the envelope's form (versioned, held by a golden file), the names of
// topics, and the relay's place in the log. It promises that an envelope says
// which stretch of the log it covers for its shard, so that a receiver notices
// what is missing, and that the relay's place moves only after publishing.
//
// It does not promise delivery. A message may be lost, doubled or late, and a
// nil from Publish proves nothing: receivers keep checkpoints and read the store
// where something is missing. So nothing is ever nacked: a message that cannot
// be read or applied is acknowledged, and healed from the store.
//
// Where somebody makes spans a message carries the trace context (traceparent) of its
// sending, which receivers find in their context (eventstore.OriginOf).
//
// It refuses to know what an event means, and what a receiver does with it.
package bus
