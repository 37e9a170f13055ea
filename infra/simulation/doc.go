// Package simulation plays the whole of seckill in one process and in virtual time, by
// one seed: the commands as they ship (purchaser, kept purchases, finder, orders,
// recorder, lane keeper, expirer, leveller, operator) and the relay, over a gate
// (infra/memgate), an event store (eventstore/memstore), views and a bus in memory.
//
// It owns the scheduler, the weather and the checks. Every question that a process asks
// of gate, log, views, bus or a lock stops until the scheduler answers it; the seed says
// which is answered next, how late, whether it is refused, whether its answer is lost,
// which process dies meanwhile, and when gate or log fall back to an older state. After
// each effect the checks of check.go hold, and when the weather is over everything
// drains and every unit left is sold.
//
// It promises that one seed gives one trace, byte by byte, on every machine. A run must
// be started in a bubble of testing/synctest: times are the bubble's, so that a minute
// of the system takes milliseconds.
//
// It refuses to say anything about the real stores: what memgate and memstore share with
// Redis and PostgreSQL is what their contracts check (commands/gatetest,
// eventstore/storetest). docs/simulation.md says what is simulated, and what is not.
package simulation
