// Package bus carries the log from the event store to whoever folds it: the
// relay reads pages, cuts them by shard into batch envelopes and publishes them
// through watermill; the consumers take them off and hand them to one receiver
// per projection and shard.
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
// It refuses to know what an event means, and what a receiver does with it.
package bus
