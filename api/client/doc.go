// Package client buys at a seckill server over HTTP as a well-behaved program does.
//
// It promises that one Purchase becomes one order at most, however often it is
// repeated: every try carries the same Idempotency-Key and the same trace. It repeats
// only what is safe to repeat, waits as long as the server asks for and a little
// longer at random, and stops after a bounded number of tries or when the context
// ends. An answer that did not come (a timeout, a reset, a 502 of a balancer) is no
// failure: it is found out by the same key, then in the list of own orders, and where
// that cannot be done in time the error is an *UnknownError, which says so and holds
// the key to ask with later.
//
// A "no" of the server is a *Problem with a code that never changes; use errors.As.
// Polling is long polling: a request waits at the server for news.
//
// It refuses to decide for the caller: it does not drop a sale that is paused, does
// not buy another item, and takes no clock but the server's for the opening. It needs
// the standard library alone.
package client
