package domain

// LetterStream names the stream of what people do about the events that views set
// aside, because they could not be applied: its dead letters.
const LetterStream = "dead-letters"

// LettersRetried says that somebody had a view take again what it had set aside of a
// sequence. It is written before that is done: a try that does not come to an end, or
// does not fit again, leaves it too.
type LettersRetried struct {
	Projection string `json:"projection"`
	Version    int    `json:"version"`
	Shard      int    `json:"shard"`
	Sequence   string `json:"sequence"`
	Events     int64  `json:"events"`
	By         string `json:"by,omitempty"`
}

// LettersDropped says that somebody gave a sequence up in one view, and why; what
// follows of it is not applied there either, until it is retried. It is written before
// that is done. The log keeps every event of the sequence.
type LettersDropped struct {
	Projection string `json:"projection"`
	Version    int    `json:"version"`
	Shard      int    `json:"shard"`
	Sequence   string `json:"sequence"`
	Events     int64  `json:"events"`
	Reason     string `json:"reason"`
	By         string `json:"by,omitempty"`
}
