package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// line is a line of a table: what it is about, and the tests that show it.
type line struct {
	about string
	tests []named
}

// named is a test as a page names it. part is "" for the whole of it, else what the
// names of its subtests that are meant hold.
type named struct {
	folder, test, part string
}

// String names the test for people.
func (n named) String() string {
	name := n.folder + " " + n.test
	if n.part != "" {
		name += "/" + n.part
	}
	return name
}

var namedTest = regexp.MustCompile("`([A-Za-z0-9_./-]+_test\\.go)`(?:\\]\\([^)]*\\))? ((?:Test|Fuzz)\\w+)(?:/(\\w+))?")

// linesOf gives the lines of all tables of a page, their heads left out.
func linesOf(page string) []line {
	var all []line
	rows := strings.Split(page, "\n")
	for i, row := range rows {
		head := i+1 < len(rows) && strings.HasPrefix(rows[i+1], "|--")
		if !strings.HasPrefix(row, "| ") || head {
			continue
		}
		cells := strings.Split(row, "|") // nothing stands before the first bar
		l := line{about: strings.TrimSpace(cells[1])}
		if len(cells) > 3 && len(l.about) < 8 {
			l.about += "  " + strings.TrimSpace(cells[2])
		}
		for _, m := range namedTest.FindAllStringSubmatch(row, -1) {
			l.tests = append(l.tests, named{folder: path.Dir(m[1]), test: m[2], part: m[3]})
		}
		all = append(all, l)
	}
	return all
}

// only keeps the lines that are about something, "" for all of them.
func only(lines []line, about string) []line {
	return slices.DeleteFunc(lines, func(l line) bool { return !strings.Contains(l.about, about) })
}

// plan gives the packages and the tests to run, each once.
func plan(lines []line) (folders, tests []string) {
	for _, l := range lines {
		for _, n := range l.tests {
			folders, tests = append(folders, "./"+n.folder), append(tests, n.test)
		}
	}
	slices.Sort(folders)
	slices.Sort(tests)
	return slices.Compact(folders), slices.Compact(tests)
}
