// Package redisconn finds Redis: it reads the addresses that settings hold and opens
// clients for them.
//
// It owns the forms of an address (Parse): one server, a cluster, or a master that
// sentinels name; and what is the same for every client of ours (Address.Open): how
// often a command is sent, that a client that meets a fault looks again where the
// masters are, and how what a server says of itself is read (Info).
//
// It promises that a command is sent once unless Tuning.Again says otherwise. Left to
// itself a client of a cluster sends a command again after a timeout and calls that a
// redirect, so following redirects is off too: MOVED and ASK come back as errors, which
// say that nothing happened. A dial that failed is a *net.OpError with Op "dial",
// also where sentinels had to be asked first. No error repeats an address, because
// addresses hold passwords.
//
// It refuses to read from replicas.
package redisconn
