// Package testenv gives tests real servers: PostgreSQL, Redis, Kafka, and a
// network between that fails when told to; beside them a clock that a test moves.
//
// It owns one PostgreSQL and one Redis per user and machine, under the folder
// for temporary files, which all packages of one or more runs of go test share.
// They start with the first test that asks, empty, and stop when the last test
// process has ended, however it ends (see infra/embedded). They keep nothing
// for the next run. A Kafka belongs to its test process and dies with it; its
// programs come from Maven Central (kafka/pom.xml) by way of .ci/kafka and stay
// in the user's cache.
//
// It promises each test a namespace of its own, which is removed with the test,
// and private servers, clusters and proxies that end with the test or with its process.
// A server or program that is not installed skips a test with the reason; where CI=true it
// fails the test, so that a green run has run everything.
//
// It refuses to know our schema: tests migrate their namespace themselves. Only
// tests may import it.
package testenv
