// Package storetest owns the contract of an event store: what every
// implementation of eventstore.Store must do, races included.
//
// It promises to use nothing but the interface, and to wait for states and
// never for time. What only one implementation can show (a lost commit reply,
// a trigger) is tested beside it.
package storetest
