/* Bounds and switches, each with its smallest useful value; -D sets others. */

#ifndef LANES
#define LANES 1       /* lanes; order o is at home in lane o % LANES */
#endif
#ifndef ITEMS
#define ITEMS 1       /* items of the sale: a stock hash and a stock stream per lane */
#endif
#ifndef ORDERS
#define ORDERS 2      /* purchases that may ever be asked for */
#endif
#ifndef UNITS
#define UNITS 1       /* units of each item; with moves all lie in the last lane */
#endif
#ifndef MOVES
#define MOVES 0       /* moves of a unit between two lanes */
#endif
#ifndef RECORDERS
#define RECORDERS 1   /* recorders of each lane */
#endif
#ifndef PAGE
#define PAGE 1        /* entries that a recorder takes at once */
#endif
#ifndef KEEPERS
#define KEEPERS 1     /* keepers of each lane, without the lock that keeps them apart */
#endif
#ifndef STARTS
#define STARTS 3      /* recoveries that may begin, in all lanes together */
#endif
#ifndef MANUAL
#define MANUAL 0      /* of them, those of a healthy lane */
#endif
#ifndef REDIS
#define REDIS 0       /* times that a lane of Redis falls back to an older state */
#endif
#ifndef EMPTIED
#define EMPTIED 0     /* 1: it may also come back empty */
#endif
#ifndef SPLIT
#define SPLIT 0       /* 1: the old server goes on selling for a while */
#endif
#ifndef LOSSES
#define LOSSES 0      /* times that one stock hash, or a sale's record, vanishes */
#endif
#ifndef POSTGRES
#define POSTGRES 0    /* times that PostgreSQL falls back to an older state */
#endif
#ifndef CANCELS
#define CANCELS 0     /* times that somebody sets out to end an order */
#endif
#ifndef DUPS
#define DUPS 0        /* scripts of purchases and moves that arrive once more, or late */
#endif
#ifndef LATES
#define LATES 0       /* pages of a follower that arrive once more */
#endif
#ifndef LOOKS
#define LOOKS 0       /* times that a leveller wants to say "sold out" */
#endif
#ifndef ONEBUYER
#define ONEBUYER 0    /* 1: the orders are of one buyer, who may have one */
#endif
#ifndef REPAIR
#define REPAIR (POSTGRES > 0 && REDIS > 0) /* a reconciliation repairs: needed where both forgot */
#endif
#ifndef PREHEATS
#define PREHEATS (LOSSES + POSTGRES > 0)   /* keepers preheat single items */
#endif
#ifndef STRICT
#define STRICT 0      /* 1: no yes of the gate may ever be refused for want of units; see README */
#endif
/* CRASHES: not set, processes may die at every step and as often as they like;
   set, that often in all: then every run is finite, which -DNP checks. */

#define IDS (ORDERS + MOVES)      /* orders, then moves; at most 7 */
#define MAXEVENTS (2 + 2 * IDS)   /* of a stock stream */
#define MAXENTRIES 6              /* of a journal */

/* Mutants: each takes one thing away. -DMUTANT=NAME */
#ifndef MUTANT
#define MUTANT 0
#endif
#define NO_FENCE 1         /* a recorder's commit does not compare the lane's epoch */
#define CUT_BEFORE_FENCE 2 /* a recovery reads the journal before it raises the epoch */
#define NO_DRAIN 3         /* a recovery records nothing of what the journal holds */
#define OPEN_EARLY 4       /* a recovery opens without having applied the log to its head */
#define NO_RUN_ID 5        /* Redis sells on after it fell back, under the epoch it had */
#define NO_HEAL 6          /* the gate does not take again what it forgot and the log knows */
#define NUMBER_ONLY 7      /* `applied` is compared by its number, without the hash */
#define APPLY_ANYWHERE 8   /* a page is applied wherever the hash stands */
#define NO_OWN_ORDER 9     /* a purchase's script that comes again is judged again */
#define END_TWICE 11       /* an order is ended without comparing its version */
#define NO_GUARD 12        /* the log appends without looking at the stock that is left */
#define DECIDE_AGAIN 13    /* the drain does not look whether an order is decided */
#define NO_TOMBSTONE 14    /* an order is declared lost without a tombstone in the gate */
#define HEAD_BEFORE_WAIT 15 /* a preheat reads the log before the recorder has come up */
#define LOG_FIRST 16       /* the leveller writes a move into the log before the journal */
#define ONE_LOOK 17        /* "sold out" after one look at the buckets */
#define NO_MOVE_ID 18      /* a move that is read again is recorded again */
#define PREHEAT_WHAT_WENT_BACK 19 /* an item ahead of a log that went back is preheated, its lane not recovered */
#define TWO_COMMITS 20     /* a move and the cursor behind it are two transactions */
#define OPEN_UNSEEN 10     /* a recovery opens without looking whether the log still has what it recorded */
