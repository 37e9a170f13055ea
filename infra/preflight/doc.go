// Package preflight looks, before a sale opens, at everything that the sale will stand
// on, as it runs: servers, settings, clocks, roles, gate, tickets, switches, the sale.
// Each check gives rows: what was seen, what is wanted, and what to do. A row that says
// no-go means that the sale should not open like this.
//
// It changes nothing and makes nothing, and works as the application's role. What it
// cannot see is "not known" and never ok. It judges by what is set and seen now; whether
// the servers are fast enough is for a rehearsal (infra/bench) and the plan (infra/plan).
//
// Adding a check is one file and one line in checks.
package preflight
