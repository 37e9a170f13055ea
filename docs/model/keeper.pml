/* commands.Keeper, one of a lane: recovery of the lane, preheat of an item. */

/* A log that went back (an item that stands at no place of its stream) may have lost
   what the journal has of older epochs: that only a recovery records again. */
#if ITEMS == 1
#define WENT_BACK(L) (THERE(L, 0) && !PREFIX(L, 0))
#else
#define WENT_BACK(L) ((THERE(L, 0) && !PREFIX(L, 0)) || (THERE(L, 1) && !PREFIX(L, 1)))
#endif
#define NEEDS_RECOVERY(L) (!HEALTHY(L) || gate[L].sale != OPEN || (MUTANT != PREHEAT_WHAT_WENT_BACK && WENT_BACK(L)))
#define NEEDS_PREHEAT(L, I) (IT(L, I).state != OPEN || (MUTANT == PREHEAT_WHAT_WENT_BACK && !PREFIX(L, I)))
#define LARGER(A, B) ((A) > (B) -> (A) : (B))
#define OURS(L) (!gate[L].open && gate[L].epoch == epoch)
#define PREHEATING(L) (SELLING(gate[L]) && gate[L].epoch == epoch)

bit keeping[LANES]; /* keeper 0 is busy: keepers are alike, so the first begins */

inline stand_down(L) {
	for (z : 0 .. MAXENTRIES - 1) {
		page[z] = 0
	}
	for (z : 0 .. ITEMS - 1) {
		at[z] = 0; hash[z] = 0;
		head[z] = 0; wrote[z] = 0
	}
	z = 0; epoch = 0; server = 0; more = 0; item = 0; n = 0;
	if
	:: k == 0 -> keeping[L] = 0
	:: else
	fi
}

inline stand_up(L) {
	if
	:: k == 0 -> keeping[L] = 1
	:: else
	fi
}

inline read_journal(L) {
	for (z : 0 .. gate[L].size - 1) {
		page[z] = gate[L].j[z]
	}
	z = 0;
	more = gate[L].size
}

/* One transaction of the drain: purchases up to the next move, or one move. */
inline drain(L) {
	if
	:: more > item && IS_MOVE(page[item]) ->
#if MOVES > 0
		record_move(L, ID(page[item]));
#endif
		item++
	:: else ->
		do
		:: more > item && !IS_MOVE(page[item]) ->
			decide(L, ID(page[item]), MUTANT == DECIDE_AGAIN);
			item++
		:: else -> break
		od
	fi;
	for (z : 0 .. ITEMS - 1) {
		head[z] = ST(L, z).size;
		wrote[z] = (head[z] == 0 -> 0 : WROTE(ST(L, z).ev[head[z] - 1]))
	}
	z = 0;
	check_log()
}

/* The log still has what the drain recorded. */
#define KEPT(L, I) (head[I] == 0 || (head[I] <= ST(L, I).size && (WROTE(ST(L, I).ev[head[I] - 1]) == wrote[I] || MUTANT == NUMBER_ONLY)))
#define KEPT_ALL(L) (MUTANT == OPEN_UNSEEN || (KEPT(L, 0) && KEPT(L, ITEMS - 1)))

inline mark(L) {
	at[item] = IT(L, item).at;
	hash[item] = IT(L, item).hash;
	item++
}

#define AT_MARK(L, I) (IT(L, I).state != MISSING && IT(L, I).at == at[I] && IT(L, I).hash == hash[I])
#define AT_MARKS(L) (AT_MARK(L, 0) && AT_MARK(L, ITEMS - 1) && gate[L].sale != MISSING)

proctype Keeper(byte k; byte l) {
	byte epoch, server, more, item, n;
	byte page[MAXENTRIES];
	byte at[ITEMS], hash[ITEMS];     /* where the hashes were brought up to */
	byte head[ITEMS], wrote[ITEMS];  /* what the drain has seen of the log */

idle:
end:	if
	:: d_step { starts < STARTS && (NEEDS_RECOVERY(l) || manual < MANUAL) && (k == 0 || keeping[l]) ->
		starts++;
		if
		:: !NEEDS_RECOVERY(l) -> manual++
		:: else
		fi;
		stand_up(l);
		epoch = LARGER(gate[l].epoch, LAST_EPOCH(gate[l]));
		if
		:: MUTANT == CUT_BEFORE_FENCE -> read_journal(l)
		:: else
		fi }; goto looked
#if PREHEATS
	:: d_step { !NEEDS_RECOVERY(l) && NEEDS_PREHEAT(l, 0) && (k == 0 || keeping[l]) ->
		stand_up(l); epoch = lg.epoch[l]; item = 0 }; goto preheat
#if ITEMS > 1
	:: d_step { !NEEDS_RECOVERY(l) && NEEDS_PREHEAT(l, 1) && (k == 0 || keeping[l]) ->
		stand_up(l); epoch = lg.epoch[l]; item = 1 }; goto preheat
#endif
#endif
	fi;

looked:	/* raiseEpoch */
	if
	:: d_step { true ->
		epoch = LARGER(lg.epoch[l], epoch) + 1;
		within_bounds = (epoch < 8);
		assert(within_bounds);
		lg.epoch[l] = epoch; lg.n[l] = 0; lg.digest[l] = START }
	:: d_step { DIE; stand_down(l) }; goto idle
	fi;

	/* close_lane.lua */
	if
	:: d_step { epoch > gate[l].epoch && epoch > LAST_EPOCH(gate[l]) ->
		gate[l].epoch = epoch; gate[l].n = 0; gate[l].digest = START;
		gate[l].open = 0; gate[l].same = 0;
		server = life[l] }
	:: d_step { !(epoch > gate[l].epoch && epoch > LAST_EPOCH(gate[l])) -> stand_down(l) }; goto idle
	:: d_step { DIE; stand_down(l) }; goto idle
	fi;

stubs:	/* stubs.lua */
	if
	:: d_step { OURS(l) -> make_stubs(l) }
	:: d_step { !OURS(l) -> stand_down(l) }; goto idle
	:: d_step { DIE; stand_down(l) }; goto idle
	fi;
	if
	:: d_step { true ->
		if
		:: MUTANT == NO_DRAIN || MUTANT == CUT_BEFORE_FENCE
		:: else -> read_journal(l)
		fi }
	:: d_step { DIE; stand_down(l) }; goto idle
	fi;

	/* drain: each transaction looks whether the epoch is still ours */
	do
	:: d_step { more > item && lg.epoch[l] == epoch -> drain(l) }
	:: d_step { more > item && lg.epoch[l] != epoch -> stand_down(l) }; goto idle
	:: d_step { more <= item -> item = 0; more = 0;
		for (z : 0 .. MAXENTRIES - 1) {
			page[z] = 0
		}
		z = 0 }; goto rebuild
	:: d_step { DIE; stand_down(l) }; goto idle
	od;

rebuild: /* bringUp: each stream to its head, or again from version 0 */
	do
	:: d_step { item < ITEMS && !THERE(l, item) -> stand_down(l) }; goto idle
	:: d_step { item < ITEMS && THERE(l, item) && !PREFIX(l, item) && OURS(l) -> make_stub(IT(l, item), 0) }
	:: d_step { item < ITEMS && THERE(l, item) && !PREFIX(l, item) && !OURS(l) -> stand_down(l) }; goto idle
	:: d_step { item < ITEMS && BEHIND(l, item) && MUTANT != OPEN_EARLY -> apply(l, item, ST(l, item).size); check_gate(l) }
	:: d_step { item < ITEMS && THERE(l, item) && PREFIX(l, item) &&
		(IT(l, item).at == ST(l, item).size || MUTANT == OPEN_EARLY) -> mark(l) }
	:: d_step { item == ITEMS -> item = 0 }; break
	:: d_step { DIE; stand_down(l) }; goto idle
	od;

	/* open_hashes.lua */
	if
	:: d_step { OURS(l) && AT_MARKS(l) ->
		gate[l].sale = OPEN;
		for (x : 0 .. ITEMS - 1) {
			IT(l, x).state = OPEN; IT(l, x).token = 0
		}
		x = 0 }
	:: d_step { OURS(l) && !AT_MARKS(l) -> make_stubs(l) }; goto rebuild
	:: d_step { !OURS(l) -> stand_down(l) }; goto idle
	:: d_step { DIE; stand_down(l) }; goto idle
	fi;

	/* open: the log's epoch, then open_lane.lua */
	if
	:: d_step { lg.epoch[l] == epoch && KEPT_ALL(l) -> skip }
	:: d_step { !(lg.epoch[l] == epoch && KEPT_ALL(l)) -> stand_down(l) }; goto idle
	:: d_step { DIE; stand_down(l) }; goto idle
	fi;
	if
	:: d_step { OURS(l) && server == life[l] ->
		gate[l].open = 1; gate[l].same = 1;
		check_cut(l); check_gate(l); stand_down(l) }; goto idle
	:: d_step { !(OURS(l) && server == life[l]) -> stand_down(l) }; goto idle
	:: d_step { DIE; stand_down(l) }; goto idle
	fi;

preheat: /* buildStock: reset_stock.lua */
#if PREHEATS
	if
	:: d_step { PREHEATING(l) && gate[l].sale == OPEN -> make_stub(IT(l, item), k + 1); n = gate[l].n }
	:: d_step { !(PREHEATING(l) && gate[l].sale == OPEN) -> stand_down(l) }; goto idle
	:: d_step { DIE; stand_down(l) }; goto idle
	fi;
	/* awaitCursor */
	if
	:: d_step { lg.epoch[l] == epoch && (lg.n[l] >= n || MUTANT == HEAD_BEFORE_WAIT) -> n = 0 }
	:: d_step { lg.epoch[l] != epoch -> stand_down(l) }; goto idle
	:: d_step { DIE; stand_down(l) }; goto idle
	fi;
	/* catch up */
	do
	:: d_step { BEHIND(l, item) -> apply(l, item, ST(l, item).size); check_gate(l) }
	:: d_step { THERE(l, item) && PREFIX(l, item) && IT(l, item).at == ST(l, item).size ->
		at[item] = IT(l, item).at; hash[item] = IT(l, item).hash }; break
	:: d_step { !THERE(l, item) || !PREFIX(l, item) -> stand_down(l) }; goto idle
	:: d_step { DIE; stand_down(l) }; goto idle
	od;
	/* open_preheated.lua */
	if
	:: d_step { PREHEATING(l) && gate[l].sale == OPEN && IT(l, item).state == STUB &&
		IT(l, item).token == k + 1 && AT_MARK(l, item) ->
		IT(l, item).state = OPEN; IT(l, item).token = 0;
		check_gate(l); stand_down(l) }; goto idle
	:: d_step { !(PREHEATING(l) && gate[l].sale == OPEN && IT(l, item).state == STUB &&
		IT(l, item).token == k + 1 && AT_MARK(l, item)) -> stand_down(l) }; goto idle
	:: d_step { DIE; stand_down(l) }; goto idle
	fi
#else
	skip
#endif
}
