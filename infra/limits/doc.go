// Package limits holds down how often a buyer, and how often everybody, may ask.
//
// It owns the sliding windows of a process (Window per buyer, Total for all), the
// log of a buyer's attempts that several nodes share through Redis (Shared,
// Store, scripts/take.lua), and the marks of those who were refused (Marks), which
// nodes tell each other (Board). Gate puts them together per endpoint.
//
// It promises: a window is a window, not a bucket. In no stretch of its length do
// more attempts of a buyer pass than the limit. Refused attempts do not count, so
// who waits for as long as the answer says is let in. Only who is signed in as
// whom counts, never an address: a crowd behind one address is many buyers, and a
// buyer with fifty addresses is one.
//
// Over k nodes that share a store at most limit + (k−1)·free attempts pass in a
// window: the first free ones (Shared says how many) at a node are let through
// without asking the store, so that a crowd in which everybody presses once costs
// it nothing. The next one tells the store of them. A node alone is exact.
//
// While the store is away, which a reply that takes longer than 50 ms means too,
// each node holds the limit by itself: up to k times the limit passes. Nobody is
// refused because the store is away. What the store forgets is told again.
//
// Memory is bounded and does not depend on how many buyers there ever were: a
// Window has a fixed number of places, of 24 bytes and 8 for each attempt of the
// limit. Where more buyers than that are active within one window, the one that
// was quiet for longest is forgotten, and may have a few attempts more. Keys in
// Redis live for one window.
//
// It refuses to lock anybody out: a mark is there for operators to see, and
// blocks nothing that the window would let pass.
package limits
