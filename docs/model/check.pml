/* What is looked at after a step: see promises.pml. */

inline check_log() {
	for (x : 0 .. ITEMS - 1) {
		p = 0; /* units of orders that stand */
		for (y : 0 .. ORDERS - 1) {
			p = p + (lg.ord[y] == PLACED && LINE(y, x))
		}
		no_oversell_for_buyers = (p <= (MOVES == 0 -> LANES * UNITS : UNITS));
		assert(no_oversell_for_buyers);
		p = 0;
		for (y : 0 .. LANES - 1) {
			sum = 0;
			for (z : 0 .. ST(y, x).size - 1) {
				d = KIND(ST(y, x).ev[z]);
				if
				:: d == E_RELEASED -> sum = sum + UNITS_IN(y)
				:: d == E_IN -> sum++
				:: d == E_RESERVED || d == E_OUT -> sum--
				:: d == E_RETURNED -> sum++
				:: else
				fi
			}
			no_oversell_in_the_fold = (sum >= 0);
			assert(no_oversell_in_the_fold);
			guard_is_the_fold = (sum == ST(y, x).left);
			assert(guard_is_the_fold)
		}
	}
	x = 0; y = 0; z = 0; d = 0; p = 0; sum = 0
}

/* found: stream or journal tell why the hash of item I knows D. */
inline explain(L, I, D) {
	found = false;
	for (y : 0 .. IT(L, I).at - 1) {
		d = ST(L, I).ev[y];
		found = found || (ID(d) == (D) && KIND(d) != E_RELEASED && KIND(d) != E_IN)
	}
	for (y : 0 .. gate[L].size - 1) {
		d = gate[L].j[y];
		found = found || (ID(d) == (D) && EPOCH(d) == gate[L].epoch && LINE(D, I))
	}
	y = 0; d = 0
}

inline check_gate(L) {
	for (x : 0 .. ITEMS - 1) {
		if
		:: IT(L, x).state != MISSING && PREFIX(L, x) ->
			sum = 0;
			for (y : 0 .. IT(L, x).at - 1) {
				d = KIND(ST(L, x).ev[y]);
				if
				:: d == E_RELEASED -> sum = sum + UNITS_IN(L)
				:: d == E_IN -> sum++
				:: else
				fi
			}
			for (y : 0 .. IDS - 1) {
				sum = sum - (IT(L, x).hold[y] == TAKEN)
			}
			gate_counts_each_unit_once = (sum == IT(L, x).left);
			assert(gate_counts_each_unit_once);
			if
			:: HEALTHY(L) && gate[L].sale == OPEN && IT(L, x).state == OPEN ->
				for (z : 0 .. IDS - 1) {
					explain(L, x, z);
					the_cut_is_exact = (found == (IT(L, x).hold[z] != NONE));
					assert(the_cut_is_exact)
				}
			:: else
			fi
		:: else
		fi
	}
	x = 0; y = 0; z = 0; d = 0; sum = 0; found = 0
}

/* When a recovery opens a lane, no entry of its journal is left between the two
   sides of its cut. After PostgreSQL forgot, Rest judges. */
inline check_cut(L) {
	for (x : 0 .. gate[L].size - 1) {
		d = ID(gate[L].j[x]);
		if
		:: d < ORDERS && EPOCH(gate[L].j[x]) < gate[L].epoch && history == 0 ->
			recorded_after_the_cut = (lg.ord[d] != UNDECIDED);
			assert(recorded_after_the_cut)
		:: else
		fi
	}
	x = 0; d = 0
}
