// Package check holds the tests of what the service is shipped with: compose.yaml, the
// Dockerfile, deploy/k8s, deploy/systemd and the workflows. Each file is read by the
// types of what will read it, strictly, and compared with what the program knows.
//
// It is a module of its own: Kubernetes' types, compose-go and actionlint bring some
// forty modules along, which neither the program nor its other tests should wait for.
// `make deployment` runs it, and so does `make test`; by hand with -count=1, since what
// lies outside of a module is nothing that Go's cache of tests looks at. No code of it
// ships.
package check
