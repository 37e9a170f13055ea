// Command suite runs the tests that a page names, and says of each line of its
// tables whether they hold:
//
//	go run ./infra/testenv/suite docs/cases.md
//
// A line of a table names its tests as `path/of/a_test.go` TestName, or
// TestName/B27 for those of its subtests whose names hold B27. The suite fails when a
// line has no test, or when one of them failed, was skipped, also in part, or did not run:
// a page that promises a test which is gone promises nothing.
//
// It knows of no test itself. What a page must list is for the tests of that page.
package main
