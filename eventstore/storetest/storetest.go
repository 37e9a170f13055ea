package storetest

import (
	"testing"

	"seckill/eventstore"
)

// Run holds a store to its contract. open gives an empty store, closed by the
// test's clean-up; each part of the contract opens its own.
func Run(t *testing.T, open func(t *testing.T) eventstore.Store) {
	contract := []struct {
		name string
		test func(*testing.T, eventstore.Store)
	}{
		{"an append gets dense positions, contiguous versions and the next hashes", appendsAreChained},
		{"a group goes to several streams, and to one stream twice", groupsSpanStreams},
		{"a group with one wrong version stores nothing of itself", groupsAreWhole},
		{"a wrong expected version is a conflict", wrongVersionConflicts},
		{"the same events again are already there", repeatsAreRecognised},
		{"the same events again are already there at any version too", repeatsAtAnyVersion},
		{"an event id that stands in another stream is a conflict at any version", anIDOfAnotherStreamConflicts},
		{"half of a repeat is a conflict", halfARepeatConflicts},
		{"a decide function that wants nothing stores nothing", nothingIsStored},
		{"an error of decide comes back as it is and stores nothing", decideErrorsComeBack},
		{"looking at what was not named panics in the submitter", lookingOutsideNeedsPanics},
		{"a context that ended before stores nothing", endedContextStoresNothing},
		{"empty and binary payloads come back as the same bytes", bytesComeBack},
		{"time of a record has microseconds and is what decide saw", timesAreTheStores},

		{"a guard gets the version of its stream and is seen by the next", guardsFollowStreams},
		{"a guard below zero is refused for that work alone", guardsDefendZero},
		{"a guard may go below zero by its overdraft and no further", guardsDefendTheOverdraft},
		{"claims are kept by sale, buyer and ordinal", claimsAreKept},
		{"a claim without an order takes away what stood there", claimsAreTakenAway},
		{"a cursor moves forward only, across epochs", cursorsMoveForward},
		{"a cursor alone is stored", cursorAlone},
		{"a cursor is stored with the events of its group, also where those are already there", cursorWithItsEvents},
		{"a NUL byte fails its own work and no neighbour", dataFailsAlone},
		{"a schema outside its range is refused", schemaRange},

		{"a stream is read in pages", streamsInPages},
		{"records are found by every field of a filter", filterFinds},
		{"states, names and head of an empty store are zero", emptyStore},
		{"streams are listed by prefix in byte order", streamNames},
		{"a look without the lock sees what a decision would see", looksWithoutTheLock},
		{"claims of a sale are read in pages", claimPages},

		{"B27: eight writers on one new stream share ten thousand versions", eightWritersOneStream},
		{"B51: a tailing reader skips nothing while writers race", tailSkipsNothing},
		{"B59: a hot stream surfaces no conflict and stays quick", hotStream},
		{"the last unit goes to one of a hundred", lastUnit},
		{"one cursor step is taken by one of many recorders", oneRecorderMoves},
		{"the same purchase sent by many at once is stored once", sameEventsRace},
	}
	for _, c := range contract {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}
