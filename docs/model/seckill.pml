/* The protocol between gate and log, as it is built. README.md says which function
   and script each step stands for, what is left out, and what was checked. */
#include "bounds.pml"
#include "types.pml"
#include "promises.pml"
#include "gate.pml"
#include "log.pml"
#include "check.pml"
#if SPLIT
Gate old;              /* the server that a lane fell back from, and still sells */
byte old_lane;         /* whose: 1 + lane */
#endif
#include "recorder.pml"
#include "keeper.pml"
#include "world.pml"
#include "levelling.pml"
#include "rest.pml"

init {
	byte l, i;
	d_step {
		for (l : 0 .. LANES - 1) {
			lg.epoch[l] = 1; lg.digest[l] = START;
			gate[l].epoch = 1; gate[l].digest = START;
			gate[l].same = 1; gate[l].open = 1; gate[l].sale = OPEN;
			for (i : 0 .. ITEMS - 1) {
				IT(l, i).state = OPEN;
				if
				:: UNITS_IN(l) > 0 ->
					ST(l, i).ev[0] = EVENT(E_RELEASED, 0);
					ST(l, i).size = 1; ST(l, i).left = UNITS_IN(l);
					IT(l, i).at = 1; IT(l, i).left = UNITS_IN(l)
				:: else
				fi
			}
		}
		i = 0
	}
	atomic {
		for (l : 0 .. LANES - 1) {
			for (i : 0 .. RECORDERS - 1) {
				run Recorder(i, l)
			}
			for (i : 0 .. KEEPERS - 1) {
				run Keeper(i, l)
			}
			for (i : 0 .. ITEMS - 1) {
				run Follower(l, i);
#if LATES > 0
				run Late(l, i);
#endif
			}
#if REDIS > 0
			run Redis(l);
#endif
#if LOSSES > 0
			run Loss(l);
#endif
		}
		for (i : 0 .. ORDERS - 1) {
			run Order(i);
			run Poll(i);
#if REPAIR
			run Repair(i);
#endif
#if CANCELS > 0
			run Ending(i);
#endif
#if CANCELS > 1
			run Ending(i);
#endif
		}
#if MOVES > 0
		for (i : 0 .. MOVES - 1) {
			for (l : 0 .. LANES - 1) {
				run Move(i, l)
			}
		}
#endif
#if LOOKS
		run SoldOut();
#endif
#if SPLIT
		run Old();
#endif
#if POSTGRES > 0
		run Postgres();
#endif
		run Rest();
		l = 0; i = 0
	}
}
