/* Those who buy and end orders, the followers, and what befalls the stores. */

/* An order on its way through the API: its purchase, once more or late, and offered
   again by the node that acknowledged it (commands.Kept). */
#define H HOME(o)
#define UNKNOWN_THERE (gate[H].rec[o] == NONE)
proctype Order(byte o) {
end:	do
	:: d_step { !asked[o] && READY(gate[H], o) && UNKNOWN_THERE && (ENOUGH(gate[H], o) || MOVES == 0) ->
		asked[o] = 1; reserve(gate[H], life[H], o); check_gate(H) }
#if DUPS > 0
	:: d_step { asked[o] && dups < DUPS && READY(gate[H], o) && (UNKNOWN_THERE || (MUTANT == NO_OWN_ORDER && gate[H].rec[o] == TAKEN)) && ENOUGH(gate[H], o) ->
		dups++; reserve(gate[H], life[H], o); check_gate(H) }
#endif
	:: d_step { told[o] && lg.ord[o] == UNDECIDED && READY(gate[H], o) && UNKNOWN_THERE && !REPEAT(gate[H], o) && ENOUGH(gate[H], o) ->
		reserve(gate[H], life[H], o); check_gate(H) }
	od
}

/* Where runs are to end, a poll that must fail is left out: it would be repeated. */
#ifdef CRASHES
#define WORTH_IT (lg.epoch[H] == gate[H].epoch)
#else
#define WORTH_IT (true)
#endif

/* A poll, or an API whose answer was lost: resolve.lua, then the log (commands.Lost). */
proctype Poll(byte o) {
	byte epoch;
end:	do
	:: d_step { lg.ord[o] == UNDECIDED && SELLING(gate[H]) && gate[H].sale == OPEN && (told[o] || dups < DUPS) && WORTH_IT &&
		(UNKNOWN_THERE || gate[H].rec[o] == TOMBSTONE) ->
		asked[o] = 1;
		if
		:: MUTANT != NO_TOMBSTONE -> gate[H].rec[o] = TOMBSTONE
		:: else
		fi;
		epoch = gate[H].epoch };
		if
		:: d_step { lg.ord[o] == UNDECIDED && lg.epoch[H] == epoch ->
			lost_was_forgotten = (!told[o] || falls > 0);
			assert(lost_was_forgotten);
			lg.ord[o] = LOST; epoch = 0 }
		:: d_step { !(lg.ord[o] == UNDECIDED && lg.epoch[H] == epoch) -> epoch = 0 }
		:: d_step { DIE; epoch = 0 }
		fi
	od
}

#undef UNKNOWN_THERE
#undef WORTH_IT
/* Orders.settle: read, then decided under the lock at the version that was read. */
proctype Ending(byte o) {
end:	do
	:: d_step { cancels < CANCELS && lg.ord[o] == PLACED -> cancels++ };
		if
		:: d_step { lg.ord[o] == PLACED || MUTANT == END_TWICE -> end_order(H, o); check_log() }
		:: d_step { lg.ord[o] != PLACED && MUTANT != END_TWICE -> skip }
		:: d_step { DIE }
		fi
	od
}

#if REPAIR
/* Repairer.Settle: an order that the gate alone knows is decided by what journal or
   gate still have of it. */
proctype Repair(byte o) {
	byte epoch, held;
end:	do
	:: d_step { HEALTHY(H) && gate[H].sale == OPEN && gate[H].n == lg.n[H] && gate[H].rec[o] == TAKEN && lg.ord[o] == UNDECIDED ->
		epoch = gate[H].epoch;
		held = (gate[H].it[0].hold[o] == TAKEN || gate[H].it[ITEMS - 1].hold[o] == TAKEN);
		for (x : 0 .. gate[H].size - 1) {
			held = held || ID(gate[H].j[x]) == o
		}
		x = 0 };
		if
		:: d_step { lg.epoch[H] == epoch && held -> decide(H, o, false); check_log(); epoch = 0; held = 0 }
		:: d_step { lg.epoch[H] == epoch && !held ->
			if
			:: lg.ord[o] == UNDECIDED -> lg.ord[o] = REJECTED; refuse(H, o)
			:: else
			fi;
			epoch = 0 }
		:: d_step { lg.epoch[H] != epoch -> epoch = 0; held = 0 }
		:: d_step { DIE; epoch = 0; held = 0 }
		fi
	od
}
#endif

/* Follower.Push and CatchUpStock: whoever recorded it, or the sweep. */
proctype Follower(byte l; byte i) {
end:	do
	:: d_step { BEHIND(l, i) -> apply(l, i, ST(l, i).size); check_gate(l) }
	od
}

#if LATES > 0
byte lates;
/* A page whose answer was lost is sent once more. One that is under way when
   PostgreSQL falls back is left out. */
proctype Late(byte l; byte i) {
	byte from, hash, to, story;
end:	do
	:: d_step { lates < LATES && BEHIND(l, i) ->
		lates++; story = history; from = IT(l, i).at; hash = IT(l, i).hash; to = ST(l, i).size;
		apply(l, i, to); check_gate(l) };
		if
		:: d_step { story == history && THERE(l, i) &&
			((IT(l, i).at == from && IT(l, i).hash == hash) || MUTANT == APPLY_ANYWHERE) ->
			IT(l, i).at = from; apply(l, i, to); check_gate(l); from = 0; hash = 0; to = 0; story = 0 }
		:: d_step { true -> from = 0; hash = 0; to = 0; story = 0 }
		fi
	od
}
#endif

inline copy_gate(To, From) {
	To.same = From.same; To.open = From.open; To.epoch = From.epoch; To.n = From.n;
	To.digest = From.digest; To.sale = From.sale; To.size = From.size;
	for (x : 0 .. MAXENTRIES - 1) {
		To.j[x] = From.j[x]
	}
	for (x : 0 .. IDS - 1) {
		To.rec[x] = From.rec[x]
	}
	for (x : 0 .. ITEMS - 1) {
		To.it[x].state = From.it[x].state; To.it[x].token = From.it[x].token;
		To.it[x].left = From.it[x].left; To.it[x].at = From.it[x].at; To.it[x].hash = From.it[x].hash;
		for (y : 0 .. IDS - 1) {
			To.it[x].hold[y] = From.it[x].hold[y]
		}
	}
	x = 0; y = 0
}

#if REDIS > 0
Gate older;            /* a copy of a lane, for one to come */
byte older_lane;       /* whose: 1 + lane */
hidden Gate blank;     /* an empty server */

/* Another process answers for the lane: same is what its server's name says. */
inline fall_back(L, Copy) {
#if SPLIT
	copy_gate(old, gate[L]); old_lane = L + 1;
#endif
	copy_gate(gate[L], Copy);
	gate[L].same = (MUTANT == NO_RUN_ID && gate[L].same);
	falls++; life[L]++;
	copy_gate(older, blank); older_lane = 0
}

proctype Redis(byte l) {
end:	do
	:: d_step { falls < REDIS && older_lane == 0 -> copy_gate(older, gate[l]); older_lane = l + 1 }
	:: d_step { falls < REDIS && older_lane == l + 1 -> fall_back(l, older) }
#if EMPTIED
	:: d_step { falls < REDIS -> fall_back(l, blank) }
#endif
	od
}
#endif

#if SPLIT
/* The old server, whom some clients still reach. */
proctype Old() {
	byte o;
end:	do
	:: d_step { old_lane > 0 && !asked[0] && HOME(0) + 1 == old_lane && READY(old, 0) && old.rec[0] == NONE ->
		asked[0] = 1; reserve(old, life[old_lane - 1] - 1, 0) }
#if ORDERS > 1
	:: d_step { old_lane > 0 && !asked[1] && HOME(1) + 1 == old_lane && READY(old, 1) && old.rec[1] == NONE ->
		asked[1] = 1; reserve(old, life[old_lane - 1] - 1, 1) }
#endif
	:: d_step { old_lane > 0 -> copy_gate(old, blank); old_lane = 0 }
	od
}
#endif

#if LOSSES > 0
proctype Loss(byte l) {
end:	do
	:: d_step { losses < LOSSES && IT(l, 0).state != MISSING -> losses++; make_stub(IT(l, 0), 0); IT(l, 0).state = MISSING }
	:: d_step { losses < LOSSES && gate[l].sale != MISSING -> losses++;
		for (x : 0 .. IDS - 1) {
			gate[l].rec[x] = NONE
		}
		x = 0; gate[l].sale = MISSING }
	od
}
#endif

#if POSTGRES > 0
Log backup;
hidden Log nothing;
bit backed;

inline copy_log(To, From) {
	for (x : 0 .. LANES - 1) {
		To.epoch[x] = From.epoch[x]; To.n[x] = From.n[x]; To.digest[x] = From.digest[x]
	}
	for (x : 0 .. ORDERS - 1) {
		To.ord[x] = From.ord[x]
	}
	for (x : 0 .. LANES * ITEMS - 1) {
		To.st[x].size = From.st[x].size; To.st[x].left = From.st[x].left;
		for (y : 0 .. MAXEVENTS - 1) {
			To.st[x].ev[y] = From.st[x].ev[y]
		}
	}
	x = 0; y = 0
}

proctype Postgres() {
end:	do
	:: d_step { history < POSTGRES && !backed -> copy_log(backup, lg); backed = 1 }
	:: d_step { history < POSTGRES && backed -> copy_log(lg, backup); history++; copy_log(backup, nothing); backed = 0 }
	od
}
#endif
#undef H
