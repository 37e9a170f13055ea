package model

// Each run has its own part of what may happen, and the sum of them is what the note says.
var runs = []run{
	{name: "two items", defines: "ITEMS=2 REDIS=1 EMPTIED=1 CANCELS=1"},
	{name: "two recorders, two recoveries", defines: "RECORDERS=2 PAGE=2 KEEPERS=2 REDIS=1"},
	{name: "an old server sells on", defines: "SPLIT=1 REDIS=1 RECORDERS=2 CANCELS=1"},
	{name: "late scripts and pages", defines: "REDIS=1 DUPS=1 LATES=1 CANCELS=1 UNITS=2"},
	{name: "one buyer", defines: "ONEBUYER=1 UNITS=2 REDIS=1 DUPS=1 CANCELS=1"},
	{name: "two who end an order", defines: "CANCELS=2 REDIS=1"},
	{name: "lost hashes", defines: "ITEMS=2 LOSSES=2 KEEPERS=2"},
	{name: "PostgreSQL falls back", defines: "POSTGRES=1 MANUAL=1 CANCELS=1"},
	{name: "both fall back", defines: "POSTGRES=1 REDIS=1"},
	{name: "levelling", defines: "LANES=2 MOVES=1 REDIS=1 UNITS=2"},
	{name: "levelling, PostgreSQL falls back", defines: "LANES=2 MOVES=1 POSTGRES=1 STARTS=2"},
	{name: "sold out", defines: "LANES=2 MOVES=1 LOOKS=1 CANCELS=1 REDIS=1 STARTS=2"},
	{name: "every run ends", defines: "CRASHES=1 REDIS=1 KEEPERS=2", endless: true},
	{name: "every run ends, levelling", defines: "LANES=2 MOVES=1 CRASHES=1 REDIS=1 STARTS=2", endless: true},

	{name: "three orders, two items", large: true, defines: "ORDERS=3 ITEMS=2 UNITS=2 REDIS=1"},
	{name: "two falls of Redis", large: true, defines: "REDIS=2 KEEPERS=2"},
	{name: "both fall back, two recorders", large: true, defines: "POSTGRES=1 REDIS=1 RECORDERS=2 MANUAL=1"},
	{name: "two lanes, both stores", large: true, defines: "LANES=2 POSTGRES=1 REDIS=1 STARTS=2"},
	{name: "levelling, two moves", large: true, defines: "LANES=2 MOVES=2 UNITS=2 REDIS=1 STARTS=2"},
}

// limits are promises that the protocol does not give; README.md says why.
var limits = []run{
	{name: "a unit that moved is sold, and PostgreSQL falls back", defines: "LANES=2 MOVES=1 POSTGRES=1 STRICT=1", broken: "accepted_is_kept"},
	{name: "both fall back, and nobody repairs", defines: "POSTGRES=1 REDIS=1 REPAIR=0", broken: "ends_decided"},
}

var mutants = []run{
	{name: "NO_FENCE", defines: "RECORDERS=2 MANUAL=1", broken: "recorded_before_the_cut"},
	{name: "CUT_BEFORE_FENCE", defines: "MANUAL=1", broken: "recorded_after_the_cut"},
	{name: "NO_DRAIN", defines: "MANUAL=1", broken: "recorded_after_the_cut"},
	{name: "OPEN_EARLY", defines: "REDIS=1", broken: "the_cut_is_exact"},
	{name: "NO_RUN_ID", defines: "REDIS=1", broken: "accepted_is_kept"},
	{name: "NO_HEAL", defines: "REDIS=1", broken: "the_cut_is_exact"},
	{name: "NUMBER_ONLY", defines: "POSTGRES=1 CANCELS=1", broken: "ends_agreeing"},
	{name: "NO_OWN_ORDER", defines: "UNITS=2 DUPS=1", broken: "gate_counts_each_unit_once"},
	{name: "APPLY_ANYWHERE", defines: "LANES=2 MOVES=1 LATES=1", broken: "gate_counts_each_unit_once"},
	{name: "END_TWICE", defines: "ORDERS=1 CANCELS=2", broken: "returned_once"},
	{name: "NO_GUARD", defines: "POSTGRES=1 CANCELS=1", broken: "no_oversell_for_buyers"},
	{name: "DECIDE_AGAIN", defines: "MANUAL=1", broken: "one_decision"},
	{name: "NO_TOMBSTONE", defines: "DUPS=1 UNITS=2", broken: "lost_was_forgotten"},
	{name: "HEAD_BEFORE_WAIT", defines: "LOSSES=1", broken: "the_cut_is_exact"},
	{name: "LOG_FIRST", defines: "LANES=2 MOVES=1", broken: "accepted_is_kept"},
	{name: "ONE_LOOK", defines: "LANES=2 MOVES=1 LOOKS=1", broken: "sold_out_is_true"},
	{name: "NO_MOVE_ID", defines: "LANES=2 MOVES=1 UNITS=2 MANUAL=1", broken: "ends_sellable"},
	{name: "PREHEAT_WHAT_WENT_BACK", defines: "POSTGRES=1 MANUAL=1", broken: "ends_decided"},
	{name: "TWO_COMMITS", defines: "LANES=2 MOVES=1 POSTGRES=1 STARTS=2", broken: "ends_sellable"},
	{name: "OPEN_UNSEEN", defines: "POSTGRES=1 MANUAL=1", broken: "the_cut_is_exact"},
}
