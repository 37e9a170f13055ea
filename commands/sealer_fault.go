package commands

import (
	"errors"

	"seckill/eventstore/seal"
)

// exportError is a fault of where seals are exported to: no space, no right to the
// folder. It passes only where somebody looks.
type exportError struct{ err error }

func (e *exportError) Error() string { return e.err.Error() }
func (e *exportError) Unwrap() error { return e.err }

func notExported(err error) bool {
	var e *exportError
	return errors.As(err, &e)
}

// brokenSeals tells whether log or seals are not what they were.
func brokenSeals(err error) bool {
	return errors.Is(err, ErrLogBroken) || errors.Is(err, seal.ErrFork) || errors.Is(err, seal.ErrUnreadable)
}
