// Package load sends a crowd over HTTP and measures what it was told.
//
// It owns the schedules of arrivals, a small HTTP/1.1 client that leaves the machine
// to the server, crowds that press once (Crowd), crowds that behave as people and
// clients do (Visitors), and the accounts of outcomes and latencies. It promises an
// open loop: arrivals never wait for answers, connections are opened as long as they
// are needed, every latency counts from the intended start, waiting for a free
// connection included, and every arrival ends as exactly one counted outcome or error,
// or as not answered when the run was ended, with the time that it had waited. When the
// generator itself was late, or had no processor left, the measurement says so
// (Account.Late, WatchCPU).
//
// It refuses redirects, proxies and HTTP/2: it is for rehearsals, not for the open
// internet.
package load
