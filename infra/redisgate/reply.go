package redisgate

import (
	"strconv"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// Answers of the scripts come as integers and text. What cannot be read becomes
// the zero value, which every caller takes for "missing": fail closed.

func number(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func entryID(v any) domain.EntryID {
	id, _ := domain.ParseEntryID(text(v))
	return id
}

func moment(v any) time.Time { return time.UnixMicro(number(v)).UTC() }

func hashState(v any) commands.HashState {
	switch text(v) {
	case "open":
		return commands.HashOpen
	case "stub":
		return commands.HashStub
	}
	return commands.HashMissing
}

// mark reads a place in a stream. What stands there and is none, nobody may take
// for version 0.
func mark(v any) eventstore.Mark {
	m, err := eventstore.ParseMark(text(v))
	if text(v) != "" && (err != nil || m.String() != text(v)) { // no script would take it for the same
		return eventstore.Mark{Number: commands.Unreadable}
	}
	return m
}

// laneValues is how many values describe a lane.
const laneValues = 13

func laneState(v any) commands.LaneState {
	l := list(v)
	if len(l) < laneValues {
		return commands.LaneState{}
	}
	s := commands.LaneState{
		Exists: number(l[0]) == 1, Open: number(l[1]) == 1, SameServer: number(l[2]) == 1, Server: text(l[3]),
		Epoch: number(l[4]), N: number(l[5]), Digest: text(l[6]), Last: entryID(l[7]), Now: moment(l[8]),
		Cut: commands.JournalCut{ID: entryID(l[10]), Digest: text(l[11])}, Foreign: text(l[12]),
	}
	if number(l[9]) > 0 {
		s.OpenedAt = moment(l[9])
	}
	return s
}
