/* Two lanes with a bucket of the sale each, and the leveller between them. */

#if MOVES > 0
/* Leveller.move: withdraw.lua in the donor; asked again under its id it takes
   nothing more, unless the gate forgot it. */
#define DONOR_READY(L) (SELLING(gate[L]) && gate[L].sale == OPEN && IT(L, 0).state == OPEN && IT(L, 0).left >= 1)
proctype Move(byte m; byte l) {
end:	do
#if MUTANT == LOG_FIRST
	:: d_step { donor[m] == 0 && DONOR_READY(l) -> donor[m] = l + 1; record_move(l, ORDERS + m); check_log() }
#else
	:: d_step { donor[m] == 0 && DONOR_READY(l) -> donor[m] = l + 1; take(gate[l], life[l], ORDERS + m); check_gate(l) }
#if DUPS > 0
	:: d_step { donor[m] == l + 1 && dups < DUPS && DONOR_READY(l) && IT(l, 0).hold[ORDERS + m] == NONE ->
		dups++; take(gate[l], life[l], ORDERS + m); check_gate(l) }
#endif
#endif
	od
}
#endif

#if LOOKS
/* Leveller.noneLeft: every bucket has none; the log has what their journals had;
   they have applied all of the log; and they are as they were. */
#define EMPTY(L) (SELLING(gate[L]) && gate[L].sale == OPEN && IT(L, 0).state == OPEN && IT(L, 0).left <= 0)
#define AS_BEFORE(L) (EMPTY(L) && gate[L].epoch == epoch[L] && IT(L, 0).left == left[L] && IT(L, 0).at == at[L] && IT(L, 0).hash == hash[L])
#define AT_HEAD(L) (at[L] == ST(L, 0).size && (at[L] == 0 || hash[L] == WROTE(ST(L, 0).ev[at[L] - 1])))

byte looks;

inline look(L) {
	epoch[L] = gate[L].epoch; n[L] = gate[L].n;
	at[L] = IT(L, 0).at; hash[L] = IT(L, 0).hash; left[L] = IT(L, 0).left
}

inline look_away() {
	for (z : 0 .. LANES - 1) {
		epoch[z] = 0; n[z] = 0; at[z] = 0; hash[z] = 0; left[z] = 0
	}
	z = 0; unsold = 0
}

/* What no order has, in the log or on its way there. */
inline count_unsold() {
	unsold = UNITS;
	for (z : 0 .. ORDERS - 1) {
		unsold = unsold - (lg.ord[z] == PLACED || (lg.ord[z] == UNDECIDED && gate[HOME(z)].rec[z] == TAKEN))
	}
	z = 0
}

inline say_sold_out() {
	sold_out_is_true = (unsold <= 0);
	assert(sold_out_is_true);
	look_away()
}

proctype SoldOut() {
	byte epoch[LANES], n[LANES], at[LANES], hash[LANES];
	short left[LANES];
	short unsold;
end:	do
	:: d_step { looks < LOOKS && EMPTY(0) -> looks++; look(0) };
		if
		:: d_step { EMPTY(1) -> look(1) }
		:: d_step { !EMPTY(1) -> look_away() }; goto end
		fi;
#if MUTANT == ONE_LOOK
		d_step { true -> count_unsold(); say_sold_out() }; goto end;
#endif
		if
		:: d_step { lg.epoch[0] == epoch[0] && lg.n[0] >= n[0] && lg.epoch[1] == epoch[1] && lg.n[1] >= n[1] -> skip }
		:: d_step { true -> look_away() }; goto end
		fi;
		if
		:: d_step { AT_HEAD(0) && AT_HEAD(1) -> count_unsold() }
		:: d_step { !(AT_HEAD(0) && AT_HEAD(1)) -> look_away() }; goto end
		fi;
		if
		:: d_step { AS_BEFORE(0) -> skip }
		:: d_step { !AS_BEFORE(0) -> look_away() }; goto end
		fi;
		if
		:: d_step { AS_BEFORE(1) -> say_sold_out() }
		:: d_step { !AS_BEFORE(1) -> look_away() }
		fi;
	od
}
#endif
