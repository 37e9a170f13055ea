package domain

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// EntryID names a purchase in the journal of a lane: entry N of Epoch, and the
// place I of the purchase in it, from 1. I is 0 for the entry as a whole.
type EntryID struct {
	Epoch int64
	N     int64
	I     int
}

// String gives "epoch-n.i", or "epoch-n" for a whole entry.
func (e EntryID) String() string {
	s := strconv.FormatInt(e.Epoch, 10) + "-" + strconv.FormatInt(e.N, 10)
	if e.I > 0 {
		s += "." + strconv.Itoa(e.I)
	}
	return s
}

// ParseEntryID reads what String writes, and nothing else.
func ParseEntryID(s string) (EntryID, error) {
	var e EntryID
	epoch, rest, ok := strings.Cut(s, "-")
	n, i, dotted := strings.Cut(rest, ".")
	var err [3]error
	e.Epoch, err[0] = strconv.ParseInt(epoch, 10, 64)
	e.N, err[1] = strconv.ParseInt(n, 10, 64)
	if dotted {
		e.I, err[2] = strconv.Atoi(i)
	}
	if !ok || errors.Join(err[:]...) != nil || e.Epoch < 0 || e.N < 0 || e.String() != s {
		return EntryID{}, fmt.Errorf("parse entry id %q: want epoch-n or epoch-n.i", s)
	}
	return e, nil
}

// FirstDigest gives the digest a journal's epoch starts from.
func FirstDigest(lane int, epoch int64) string {
	return sha1hex(strconv.Itoa(lane) + strconv.FormatInt(epoch, 10))
}

// NextDigest gives the digest after an entry whose body is body, as written.
func NextDigest(previous, body string) string { return sha1hex(previous + body) }

func sha1hex(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}
