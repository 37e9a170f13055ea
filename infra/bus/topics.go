package bus

import "strconv"

// ShardHeader is the message metadata that names the shard, for publishers that
// keep all shards in one topic and choose the partition by it.
const ShardHeader = "shard"

// TraceHeader is the message metadata with the W3C trace context of whoever sent it.
const TraceHeader = "traceparent"

// Topics names the topic of each shard.
type Topics func(shard int) string

// TopicPerShard gives every shard a topic of its own, "<namespace>.events.<shard>".
func TopicPerShard(namespace string) Topics {
	return func(shard int) string { return namespace + ".events." + strconv.Itoa(shard) }
}
