/* Transactions of PostgreSQL. Each is one step: decide runs under the log lock. */

inline append(L, I, E) {
	within_bounds = (ST(L, I).size < MAXEVENTS);
	assert(within_bounds);
	ST(L, I).ev[ST(L, I).size] = E;
	ST(L, I).size++
}

/* found: the stream has an event of this kind about D. */
inline find(L, I, Kind, D) {
	found = false;
	for (y : 0 .. ST(L, I).size - 1) {
		found = found || (KIND(ST(L, I).ev[y]) == (Kind) && ID(ST(L, I).ev[y]) == (D))
	}
	y = 0
}

#define LEFT(L, I) (MUTANT == NO_GUARD || ST(L, I).left >= 1)
#if ONEBUYER
#define CLAIMED(O) (lg.ord[1 - (O)] == PLACED)
#else
#define CLAIMED(O) (false)
#endif

/* What PostgreSQL forgot may be a return whose unit was sold again; or a move, whose unit
   the receiver sold, and its recorder may be ahead of the donor's; or Redis forgot as well. */
#define EXCUSED (!STRICT && history > 0 && (falls > 0 || cancels > 0 || MOVES > 0))

inline refuse(L, O) {
	for (x : 0 .. ITEMS - 1) {
		if
		:: LINE(O, x) ->
			find(L, x, E_REFUSED, O);
			if
			:: !found -> append(L, x, EVENT(E_REFUSED, O))
			:: else
			fi
		:: else
		fi
	}
	x = 0
}

/* draft.add: placed, rejected with a reason, or decided before. Again: not even
   that is looked at. */
inline decide(L, O, Again) {
	if
	:: lg.ord[O] == UNDECIDED || (Again) ->
		one_decision = (lg.ord[O] == UNDECIDED);
		assert(one_decision);
		if
		:: !CLAIMED(O) && ALL(O, LEFT(L, 0), LEFT(L, ITEMS - 1)) ->
			lg.ord[O] = PLACED;
			for (x : 0 .. ITEMS - 1) {
				if
				:: LINE(O, x) ->
					append(L, x, EVENT(E_RESERVED, O));
					ST(L, x).left--
				:: else
				fi
			}
			x = 0
		:: else ->
			accepted_is_kept = (CLAIMED(O) || EXCUSED);
			assert(accepted_is_kept);
			lg.ord[O] = REJECTED;
			refuse(L, O)
		fi
	:: else ->
		if
		:: lg.ord[O] == REJECTED || lg.ord[O] == LOST -> refuse(L, O)
		:: else
		fi
	fi
}

/* moved.decide: both sides of a move in one group, or its refusal; one that is
   there already, either way, stays as it is. */
#define RECEIVER(L) (LANES - 1 - (L))
inline record_move(L, D) {
	find(L, 0, E_OUT, D);
	good = found;
	find(L, 0, E_REFUSED, D);
	if
	:: (good && MUTANT != NO_MOVE_ID) || found
	:: else ->
		if
		:: LEFT(L, 0) ->
			append(L, 0, EVENT(E_OUT, D));
			append(RECEIVER(L), 0, EVENT(E_IN, D));
			ST(L, 0).left--;
			ST(RECEIVER(L), 0).left++
		:: else ->
			append(L, 0, EVENT(E_REFUSED, D))
		fi
	fi;
	good = false
}

/* ending.decide: the end of an order and the return of its units, one group. */
inline end_order(L, O) {
	lg.ord[O] = ENDED;
	for (x : 0 .. ITEMS - 1) {
		if
		:: LINE(O, x) ->
			find(L, x, E_RETURNED, O);
			returned_once = !found;
			assert(returned_once);
			append(L, x, EVENT(E_RETURNED, O));
			ST(L, x).left++
		:: else
		fi
	}
	x = 0
}

/* Whether the journal that the gate holds goes on from the lane's cursor. */
#define CHAINED(L) (DIGEST(gate[L], lg.epoch[L], lg.n[L]) == lg.digest[L])
/* Keeper.healthy, and what the recorder tells it. */
#define HEALTHY(L) (SELLING(gate[L]) && gate[L].epoch == lg.epoch[L] && gate[L].n >= lg.n[L] && CHAINED(L))
