/* The promises. They are checked within the step after which they could be broken;
   the name of the one that is broken is what spin prints. */
hidden byte no_oversell_in_the_fold;   /* the fold of no stream holds more than was released */
hidden byte no_oversell_for_buyers;    /* no more orders stand than there are units */
hidden byte guard_is_the_fold;         /* the guard says what the fold of its stream does */
hidden byte one_decision;              /* an order is decided once */
hidden byte accepted_is_kept;          /* a yes of the gate is no refusal for want of units, unless PostgreSQL forgot */
hidden byte lost_was_forgotten;        /* no order is declared lost that nobody forgot */
hidden byte returned_once;             /* the units of an order come back once */
hidden byte gate_counts_each_unit_once; /* available = what came in - what is held */
hidden byte the_cut_is_exact;          /* what a healthy lane holds is what the log had at `applied` and the journal has to n */
hidden byte recorded_before_the_cut;   /* a recorder decides nothing of an epoch that is over */
hidden byte recorded_after_the_cut;    /* when a lane opens, every entry of older epochs is decided */
hidden byte sold_out_is_true;          /* no unit was unsold anywhere when the leveller looked */
hidden byte within_bounds;             /* of this model */
hidden byte ends_open, ends_decided, ends_sellable, ends_agreeing; /* at rest, see Rest */
