/* commands.Recorder, one of a lane; k tells recorders of a lane apart. */

#ifdef CRASHES
#define DIE crashes < CRASHES -> crashes++
#else
#define DIE true
#endif

bit reading[LANES]; /* recorder 0 has a page: recorders are alike, so the first begins */

#define IS_MOVE(J) (ID(J) >= ORDERS)
#define FENCED(L) ((MUTANT == NO_FENCE || lg.epoch[L] == epoch) && lg.n[L] == n)

/* What waits behind the cursor: a page of purchases, or one move. */
inline read_page(G, L) {
	epoch = lg.epoch[L];
	n = lg.n[L];
	z = FIRST(G, epoch) + n;
	more = 0;
	do
	:: more < PAGE && z + more < G.size && EPOCH(G.j[z + more]) == epoch &&
	   !(more > 0 && (IS_MOVE(G.j[z]) || IS_MOVE(G.j[z + more]))) ->
		page[more] = G.j[z + more];
		more++
	:: else -> break
	od;
	z = 0;
	if
	:: k == 0 -> reading[L] = 1
	:: else
	fi
}

inline forget_page(L) {
	for (z : 0 .. PAGE - 1) {
		page[z] = 0
	}
	z = 0; epoch = 0; n = 0; more = 0;
	if
	:: k == 0 -> reading[L] = 0
	:: else
	fi
}

/* submitPage under stillAt, and the cursor in the same transaction. */
inline commit_page(L) {
	z = 0;
	do
	:: z < more && !IS_MOVE(page[z]) ->
		recorded_before_the_cut = (lg.epoch[L] == epoch || lg.ord[ID(page[z])] != UNDECIDED);
		assert(recorded_before_the_cut);
		decide(L, ID(page[z]), false);
		z++
	:: else -> break
	od;
	lg.n[L] = n + more;
	lg.digest[L] = page[more - 1] >> 6;
	forget_page(L);
	check_log()
}

proctype Recorder(byte k; byte l) {
	byte epoch, n, more;
	byte page[PAGE];
end:	do
	:: d_step { COUNT(gate[l], lg.epoch[l]) > lg.n[l] && CHAINED(l) && (k == 0 || reading[l]) -> read_page(gate[l], l) };
		if
		:: d_step { FENCED(l) && !IS_MOVE(page[0]) -> commit_page(l) }
#if MOVES > 0
#if MUTANT != TWO_COMMITS
		:: d_step { FENCED(l) && IS_MOVE(page[0]) -> record_move(l, ID(page[0])); commit_page(l) }
#else
		:: d_step { FENCED(l) && IS_MOVE(page[0]) -> record_move(l, ID(page[0])); check_log() }; /* the cursor stays */
			if
			:: d_step { FENCED(l) -> commit_page(l) }
			:: d_step { !FENCED(l) -> forget_page(l) }
			:: d_step { DIE; forget_page(l) }
			fi
#endif
#endif
		:: d_step { !FENCED(l) -> forget_page(l) }
		:: d_step { DIE; forget_page(l) }
		fi
#if SPLIT
	:: d_step { old_lane == l + 1 && COUNT(old, lg.epoch[l]) > lg.n[l] &&
		DIGEST(old, lg.epoch[l], lg.n[l]) == lg.digest[l] && (k == 0 || reading[l]) -> read_page(old, l) };
		if
		:: d_step { FENCED(l) -> commit_page(l) }
		:: d_step { !FENCED(l) -> forget_page(l) }
		:: d_step { DIE; forget_page(l) }
		fi
#endif
	od
}
