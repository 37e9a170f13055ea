/* The scripts of Redis, infra/redisgate/scripts. Each is one step. G is a lane of
   the gate, Life the life of Redis it is in. */

#define SELLING(G) (G.open && G.same)
#define ALL(O, Cond0, Cond1) ((!LINE(O, 0) || (Cond0)) && (!LINE(O, ITEMS - 1) || (Cond1)))
#define READY(G, O) (SELLING(G) && G.sale == OPEN && \
	ALL(O, G.it[0].state == OPEN, G.it[ITEMS - 1].state == OPEN))
#define ENOUGH(G, O) ALL(O, G.it[0].left >= 1, G.it[ITEMS - 1].left >= 1)
#if ONEBUYER
#define REPEAT(G, O) (G.rec[1 - (O)] == TAKEN)
#else
#define REPEAT(G, O) (false)
#endif

/* SUM adds up over the places of a journal; one that is free holds 0. */
#define SUM(F, G, E) (F(G, E, 0) + F(G, E, 1) + F(G, E, 2) + F(G, E, 3) + F(G, E, 4) + F(G, E, 5))
#define OF(G, E, X) (EPOCH(G.j[X]) == (E))
#define BEFORE(G, E, X) (G.j[X] != 0 && EPOCH(G.j[X]) < (E))
/* How many entries of an epoch the journal holds, and where they begin. */
#define COUNT(G, E) SUM(OF, G, E)
#define FIRST(G, E) SUM(BEFORE, G, E)
#define LAST_EPOCH(G) (G.size == 0 -> 0 : EPOCH(G.j[G.size - 1]))
/* The digest of the journal after entry N of an epoch; 6 where it has no such entry. */
#define DIGEST(G, E, N) ((N) == 0 -> START : (COUNT(G, E) < (N) -> 6 : G.j[FIRST(G, E) + (N) - 1] >> 6))

/* reserve.lua and withdraw.lua: the entry, then the writes. */
inline take(G, Life, D) {
	within_bounds = (G.size < MAXENTRIES);
	assert(within_bounds);
	G.n++;
	G.j[G.size] = ENTRY(Life, G.epoch, D);
	G.size++;
	G.digest = Life;
	for (x : 0 .. ITEMS - 1) {
		if
		:: LINE(D, x) ->
			G.it[x].left--;
			G.it[x].hold[D] = TAKEN
		:: else
		fi
	}
	x = 0
}

/* reserve.lua of an order that the gate does not know. */
inline reserve(G, Life, O) {
	if
	:: REPEAT(G, O) || !ENOUGH(G, O)
	:: else ->
		take(G, Life, O);
		G.rec[O] = TAKEN;
		told[O] = 1
	fi
}

/* A move has no record. */
inline say(L, Letter) {
	if
	:: d < ORDERS -> gate[L].rec[d] = Letter
	:: else
	fi
}

/* apply_stock.lua: one event into a stock hash and its order's record. */
inline fold_event(L, I, E) {
	d = ID(E);
	if
	:: KIND(E) == E_RELEASED -> IT(L, I).left = IT(L, I).left + UNITS_IN(L)
	:: KIND(E) == E_IN -> IT(L, I).left++
	:: (KIND(E) == E_RESERVED || KIND(E) == E_OUT) && (MUTANT != NO_HEAL || IT(L, I).hold[d] != NONE) ->
		if
		:: IT(L, I).hold[d] == NONE ->
			IT(L, I).left--;
			IT(L, I).hold[d] = TAKEN;
			say(L, TAKEN)
		:: IT(L, I).hold[d] != NONE && d < ORDERS && gate[L].rec[d] != TAKEN && gate[L].rec[d] != BACK -> say(L, TAKEN)
		:: else
		fi
	:: KIND(E) == E_RETURNED || KIND(E) == E_REFUSED ->
		if
		:: IT(L, I).hold[d] == TAKEN -> IT(L, I).left++
		:: else
		fi;
		IT(L, I).hold[d] = (KIND(E) == E_RETURNED -> BACK : REFUSED);
		say(L, (KIND(E) == E_RETURNED -> BACK : REFUSED))
	:: else
	fi;
	d = 0
}

/* Where a stock hash stands is a place of its stream. */
#define PREFIX(L, I) (IT(L, I).at == 0 || (IT(L, I).at <= ST(L, I).size && \
	(MUTANT == NUMBER_ONLY || WROTE(ST(L, I).ev[IT(L, I).at - 1]) == IT(L, I).hash)))
#define THERE(L, I) (gate[L].sale != MISSING && IT(L, I).state != MISSING)
#define BEHIND(L, I) (THERE(L, I) && PREFIX(L, I) && IT(L, I).at < ST(L, I).size)

/* apply_stock.lua: the events after `applied`, up to the version To. */
inline apply(L, I, To) {
	for (y : IT(L, I).at .. (To) - 1) {
		fold_event(L, I, ST(L, I).ev[y])
	}
	y = 0;
	IT(L, I).at = To;
	IT(L, I).hash = WROTE(ST(L, I).ev[(To) - 1])
}

inline make_stub(H, Token) {
	H.state = STUB;
	H.token = Token;
	H.left = 0;
	H.at = 0;
	H.hash = 0;
	for (z : 0 .. IDS - 1) {
		H.hold[z] = NONE
	}
	z = 0
}

/* stubs.lua: what is missing; with the record, every stock hash. */
inline make_stubs(L) {
	found = (gate[L].sale == MISSING);
	if
	:: found ->
		gate[L].sale = STUB;
		for (x : 0 .. IDS - 1) {
			gate[L].rec[x] = NONE
		}
	:: else
	fi;
	for (x : 0 .. ITEMS - 1) {
		if
		:: found || IT(L, x).state == MISSING -> make_stub(IT(L, x), 0)
		:: else
		fi
	}
	x = 0
}
