/* What the stores hold. */

/* States of a sale's record and of a stock hash (commands.HashState). */
#define MISSING 0
#define STUB 1
#define OPEN 2

/* Letters of an order's record (A, E, T, R) and of a hold (T, R, -, X) in the gate. */
#define NONE 0
#define TAKEN 1
#define BACK 2
#define TOMBSTONE 3
#define REFUSED 4

/* What the log says of an order: its stream's deciding event, and its end. */
#define UNDECIDED 0
#define PLACED 1
#define ENDED 2
#define REJECTED 3
#define LOST 4

/* An event of a stock stream is a byte: the history that wrote it, kind, id. Two
   events of one version are the same exactly if the same history wrote them: that
   is what comparing number and hash finds out. */
#define E_RELEASED 0
#define E_RESERVED 1
#define E_RETURNED 2
#define E_REFUSED 3
#define E_OUT 4
#define E_IN 5
#define EVENT(Kind, Id) ((history << 6) | ((Kind) << 3) | (Id))
#define KIND(E) (((E) >> 3) & 7)
#define ID(E) ((E) & 7)
#define WROTE(E) ((E) >> 6)

/* An entry of a journal is a byte: the life of Redis that wrote it, epoch, id. A
   digest is the life that wrote the last entry it covers: within one life each
   number of an epoch is written once. START is the first digest of an epoch. */
#define START 7
#define ENTRY(Life, Epoch, Id) (((Life) << 6) | ((Epoch) << 3) | (Id))
#define EPOCH(J) (((J) >> 3) & 7)

typedef Hash {         /* a stock hash */
	byte state;
	byte token;    /* of the preheat that made the stub */
	short left;    /* available */
	byte at;       /* applied: number … */
	byte hash;     /* … and hash */
	byte hold[IDS]
};

typedef Gate {         /* a lane of Redis with one bucket of the sale */
	bit same;      /* the server is the one that the lane was opened on */
	bit open;
	byte epoch;
	byte n;
	byte digest;
	byte sale;     /* the record's state */
	byte rec[IDS]; /* its order records */
	byte size;
	byte j[MAXENTRIES];
	Hash it[ITEMS]
};

typedef Stream {       /* a stock stream and its guard */
	byte size;
	byte ev[MAXEVENTS];
	short left
};

typedef Log {          /* PostgreSQL */
	byte epoch[LANES]; /* cursors */
	byte n[LANES];
	byte digest[LANES];
	byte ord[ORDERS];
	Stream st[LANES * ITEMS]
};

Gate gate[LANES];
byte life[LANES];      /* of Redis: how often the lane fell back */
Log lg;
byte history;          /* of PostgreSQL: how often it fell back */

bit asked[ORDERS];     /* the purchase was sent */
bit told[ORDERS];      /* its buyer may have been told yes */
byte starts, manual, falls, dups, cancels, losses;
#if MOVES > 0
byte donor[MOVES];     /* 1 + the lane that a move was asked of */
#endif
#ifdef CRASHES
byte crashes;
#endif

#define IT(L, I) gate[L].it[I]
#define ST(L, I) lg.st[(L) * ITEMS + (I)]
#define HOME(O) ((O) % LANES)

/* Order 0 asks for one of each item, the others for one of one item; a move is of
   the first item. */
#define LINE(D, I) (((D) >= ORDERS && (I) == 0) || \
	((D) < ORDERS && ((D) == 0 || ITEMS == 1 || (I) == ((D) - 1) % 2)))
/* What the first event of a stock stream released. */
#define UNITS_IN(L) (MOVES == 0 -> UNITS : ((L) == LANES - 1 -> UNITS : 0))

/* Scratch of single steps; no part of a state. */
hidden byte x, y, z, d, p;
hidden short sum;
hidden byte found, good;
