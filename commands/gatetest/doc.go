// Package gatetest is the contract of a gate, races included: every
// implementation of the gate's ports runs it, and Agree runs the same random
// operations on two of them, which must answer alike.
//
// It owns Stage, a gate with a small log beside it: enough of a recorder, an
// applier and a recovery to bring a gate into every state that the contract
// speaks of. It promises to look at a gate through its ports only, and refuses
// to know which gate it is.
package gatetest
