package commands

import (
	"context"
	"fmt"
	"hash/maphash"
	"strings"

	"seckill/eventstore"
)

// StreamHeads says where streams stand, by the table that appends go by.
type StreamHeads interface {
	// EachStreamHead gives the newest version of each stream, each stream once.
	EachStreamHead(ctx context.Context, do func(stream string, version int64) error) error
}

// heads compares where the streams stand with the log that was read, up to a
// position; a stream may have grown since.
func (st *stitcher) heads(ctx context.Context, heads StreamHeads, to int64) error {
	type doubt struct {
		stream  string
		version int64
	}
	var doubts []doubt // looked into later, as the log and they may share a connection
	err := heads.EachStreamHead(ctx, func(stream string, version int64) error {
		h := maphash.String(st.seed, stream)
		seen, known := st.versions[h]
		switch {
		case seen == version:
		case len(doubts) >= st.opts.MaxFaults+headsInFlight:
			st.report.FaultsTotal++
		default:
			doubts = append(doubts, doubt{strings.Clone(stream), version})
		}
		if known {
			st.versions[h] = compared
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, d := range doubts {
		if len(st.report.Faults) == st.opts.MaxFaults { // not worth looking at each again
			st.report.FaultsTotal += len(doubts) - i
			break
		}
		if err := st.headFault(ctx, d.stream, d.version, to); err != nil {
			return err
		}
	}
	return st.headless(ctx, to)
}

// compared marks a stream whose head was compared.
const compared = -1

// headsInFlight is far more streams than grow while an audit reads the heads
// faster than they can be looked into.
const headsInFlight = 1 << 20

// headFault looks again, by name: the stream may have grown since the log was read.
func (st *stitcher) headFault(ctx context.Context, stream string, version, to int64) error {
	around, err := st.log.ReadStream(ctx, stream, max(0, version-1), 2)
	if err != nil {
		return err
	}
	f := AuditFault{Stream: stream, Version: version, Kind: FaultStreamHead}
	switch {
	case len(around) == 0 || around[0].Version != version:
		f.Detail = fmt.Sprintf("the stream is said to stand at version %d, which is not in the log", version)
	case len(around) > 1 && around[1].Position <= to:
		f.Position = around[1].Position
		f.Detail = fmt.Sprintf("the stream is said to stand at version %d, and the log goes on with version %d", version, around[1].Version)
	default:
		return nil
	}
	st.fault(f)
	return nil
}

// headless finds the streams of the log that are said to stand nowhere. Their
// names are read from the log again.
func (st *stitcher) headless(ctx context.Context, to int64) error {
	left := 0
	for _, version := range st.versions {
		if version != compared {
			left++
		}
	}
	if left == 0 {
		return nil
	}
	return st.log.Scan(ctx, 0, to, func(r *eventstore.Record) error {
		h := maphash.String(st.seed, r.Stream)
		if version, ok := st.versions[h]; ok && version == r.Version {
			st.versions[h] = compared
			st.fault(AuditFault{Position: r.Position, Stream: strings.Clone(r.Stream), Version: version, Kind: FaultStreamHead,
				Detail: "the stream stands in the log, and nothing says where: it could be begun anew"})
		}
		return nil
	})
}
