/* A process that nothing more can happen to the rest of. Then every lane sells
   what is unsold, and every yes is decided; unless the recoveries that the bounds
   allow are used up. */
#define TIRED(L) (starts >= STARTS && NEEDS_RECOVERY(L))
proctype Rest() {
	byte l, i, o;
	timeout ->
	d_step {
		for (l : 0 .. LANES - 1) {
			if
			:: TIRED(l)
			:: else ->
				ends_open = (HEALTHY(l) && gate[l].sale == OPEN && gate[l].n == lg.n[l]);
				assert(ends_open);
				for (i : 0 .. ITEMS - 1) {
					ends_open = (IT(l, i).state == OPEN && PREFIX(l, i) && IT(l, i).at == ST(l, i).size);
					assert(ends_open);
					ends_sellable = (IT(l, i).left == ST(l, i).left);
					assert(ends_sellable)
				}
				for (o : 0 .. ORDERS - 1) {
					if
					:: HOME(o) == l ->
						ends_decided = (lg.ord[o] != UNDECIDED || (!told[o] && gate[l].rec[o] != TAKEN));
						assert(ends_decided);
						ends_agreeing = ((lg.ord[o] == PLACED) == (gate[l].rec[o] == TAKEN));
						assert(ends_agreeing);
						for (i : 0 .. ITEMS - 1) {
							ends_agreeing = (!LINE(o, i) || (lg.ord[o] == PLACED) == (IT(l, i).hold[o] == TAKEN));
							assert(ends_agreeing)
						}
					:: else
					fi
				}
			fi
		}
	}
}
