"""The first preheat of a sale in a healthy lane, as an explicit-state model.

The gate-log protocol recovers a whole lane when a sale's record is lost. A sale
that the gate never held must not cost its neighbours a recovery, so the log
notes `sale.preheated` before the gate holds a record for the first time:
missing without the note is new, missing with the note is lost.

Two keepers run without any lock here (a leader lock may overlap for a moment),
the record may be lost at any time, and either keeper may stall at any step.

Checked at every state: the log never refuses a purchase for stock that the gate
accepted (Redis forgot nothing but the record, so every yes can be kept).
Checked at rest: the record is open, and gate and log agree on what is left.

    python3 docs/model/first_preheat.py        the design, then each mutant
"""
import sys
from collections import deque

UNITS, ORDERS, LOSSES, MAXEPOCH = 1, 2, 2, 4
MISSING, STUB, OPEN = 0, 1, 2
IDLE = ("idle",)


def initial():
    gate = (1, True, MISSING, 0, 0, frozenset(), 0)  # epoch, open, record, token, left, known, applied
    log = (False, 1, 0, ())  # noted, epoch, cursor, events ('R'|'X', order)
    return gate, log, (), (IDLE, IDLE), 0, 0, frozenset()  # …, journal, keepers, tokens, losses, asked


def reserved(events):
    return sum(kind == "R" for kind, _ in events)


def record(events, order):
    if any(o == order for _, o in events):
        return events
    return events + (("R" if reserved(events) < UNITS else "X", order),)


def applied(gate, events):
    """apply.lua: an order this record does not know takes its unit again."""
    epoch, is_open, rec, token, left, known, at = gate
    if at == 0:
        left, known = UNITS, frozenset()
    for kind, order in events[max(at - 1, 0):]:
        if kind == "R" and order not in known:
            left, known = left - 1, known | {order}
        if kind == "X" and order in known:
            left, known = left + 1, known - {order}
    return epoch, is_open, rec, token, left, known, len(events) + 1


def world(state):
    gate, log, journal, keepers, tokens, losses, asked = state
    epoch, is_open, rec, token, left, known, at = gate
    noted, lepoch, cursor, events = log
    for order in range(ORDERS):
        if is_open and rec == OPEN and left > 0 and order not in asked:
            g = (epoch, is_open, rec, token, left - 1, known | {order}, at)
            yield f"~ order {order} accepted", (g, log, journal + ((epoch, order),), keepers, tokens, losses, asked | {order})
    if losses < LOSSES and rec != MISSING:
        yield "~ the record is lost", ((epoch, is_open, MISSING, 0, 0, frozenset(), 0), log, journal, keepers, tokens, losses + 1, asked)
    mine = [o for e, o in journal if e == lepoch]
    if epoch == lepoch and cursor < len(mine):
        events = record(events, mine[cursor])
        yield f"recorder: order {mine[cursor]}", (gate, (noted, lepoch, cursor + 1, events), journal, keepers, tokens, losses, asked)
    if rec == OPEN and at != len(events) + 1:
        yield "follower applies", (applied(gate, events), log, journal, keepers, tokens, losses, asked)


def keeper(state, i, m):
    gate, log, journal, keepers, tokens, losses, asked = state
    epoch, is_open, rec, token, left, known, at = gate
    noted, lepoch, cursor, events = log
    me = keepers[i]

    def to(label, mine, g=gate, l=log, t=tokens):
        ks = tuple(mine if j == i else k for j, k in enumerate(keepers))
        return f"keeper {i}: {label}", (g, l, journal, ks, t, losses, asked)

    step = me[0]
    if step == "idle":
        sick = not is_open or epoch != lepoch or rec == STUB
        if rec == MISSING and not sick and not noted:
            yield to("never held", ("note", lepoch))
        elif (rec == MISSING or sick) and lepoch < MAXEPOCH:
            e = max(lepoch, epoch) + 1
            yield to(f"recovery, epoch {e}", ("close", e), l=(noted, e, 0, events))
    elif step == "note":
        if not noted or m == "anyone":
            e = None if m == "late" else me[1]
            yield to("notes the preheat", ("build", e), l=(True, lepoch, cursor, events))
        else:
            yield to("noted by another: a recovery's matter", IDLE)
    elif step == "build":
        e = lepoch if me[1] is None else me[1]
        fits = rec == MISSING and is_open and (epoch == e or m == "unfenced")
        if fits:
            t = tokens + 1
            yield to("builds a stub", ("fill", e, t), g=(epoch, is_open, STUB, t, 0, frozenset(), 0), t=t)
        else:
            yield to("overtaken", IDLE)
    elif step == "fill":
        if rec == STUB and token == me[2]:
            yield to("applies from 0", ("open", me[1], me[2]), g=applied(gate, events))
        else:
            yield to("overtaken", IDLE)
    elif step == "open":
        if rec == STUB and token == me[2] and is_open and (epoch == me[1] or m == "unfenced"):
            if at == len(events) + 1:
                yield to("opens", IDLE, g=(epoch, is_open, OPEN, 0, left, known, at))
            else:
                yield to("applies what came since", me, g=applied(gate, events))
        else:
            yield to("overtaken", IDLE)
    elif step == "close":
        e = me[1]
        if epoch < e:
            g = (e, False) + ((STUB, 0, 0, frozenset(), 0) if rec == MISSING else (rec, token, left, known, at))
            yield to("closes the lane", ("drain", e), g=g, l=(True, lepoch, cursor, events))
        else:
            yield to("overtaken", IDLE)
    elif step == "drain":
        if lepoch != me[1]:
            yield to("overtaken", IDLE)
        else:
            for _, order in journal:
                events = record(events, order)
            yield to("drains the journal", ("rise", me[1]), l=(noted, lepoch, cursor, events))
    elif step == "rise":
        if epoch != me[1] or lepoch != me[1] or is_open:
            yield to("overtaken", IDLE)
        elif rec == MISSING:
            yield to("a stub of what was lost meanwhile", me, g=(epoch, is_open, STUB, 0, 0, frozenset(), 0))
        elif at != len(events) + 1:
            yield to("applies", me, g=applied(gate, events))
        else:
            yield to("opens the lane", IDLE, g=(epoch, True, OPEN, 0, left, known, at))


def check(mutant):
    start = initial()
    parent, queue = {start: None}, deque([start])
    while queue:
        state = queue.popleft()
        gate, log, *_ = state
        moves = list(world(state)) + [x for i in (0, 1) for x in keeper(state, i, mutant)]
        fault = None
        if any(kind == "X" for kind, _ in log[3]):
            fault = "a purchase that the gate accepted was refused for stock"
        elif all(label[0] == "~" for label, _ in moves) and log[1] < MAXEPOCH:
            if gate[2] != OPEN:
                fault = "at rest with a record that is not open"
            elif gate[4] + reserved(log[3]) != UNITS:
                fault = f"at rest with {gate[4]} left and {reserved(log[3])} sold of {UNITS}"
        if fault:
            return len(parent), fault, trace(parent, state)
        for label, nxt in moves:
            if nxt not in parent:
                parent[nxt] = (state, label)
                queue.append(nxt)
    return len(parent), None, []


def trace(parent, state):
    steps = []
    while parent[state]:
        state, label = parent[state]
        steps.append(label)
    return steps[::-1]


def main():
    failed = False
    for mutant, says in (
        (None, "the design"),
        ("anyone", "who did not write the note builds all the same"),
        ("late", "the epoch is read after the note"),
        ("unfenced", "a stub is built and opened under any epoch"),
    ):
        states, fault, steps = check(mutant)
        good = (fault is None) == (mutant is None)
        failed |= not good
        print(f"{'ok  ' if good else 'FAIL'} {says}: {states} states, {fault or 'holds'}")
        if fault and "-v" in sys.argv:
            print("     " + "\n     ".join(steps))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
