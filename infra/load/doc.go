// Package load sends a crowd over HTTP and measures what it was told.
//
// It owns the arrival schedule, a small HTTP/1.1 client that leaves the machine
// to the server, and the account of outcomes and latencies. It promises an open
// loop: arrivals never wait for answers, every latency counts from the intended
// start, waiting for a free connection included, and every arrival ends as
// exactly one counted outcome or error, or as not answered when the run was ended,
// with the time that it had waited. When the generator itself was late, the
// measurement says so.
//
// It refuses HTTPS, redirects and proxies: it is for rehearsals, not for the
// open internet.
package load
