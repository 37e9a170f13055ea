package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages lists the Markdown files of the checkout's root and of docs, from here.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"../*.md", "*.md", "adr/*.md", "model/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	if len(all) < 30 {
		t.Fatalf("only %v were found", all)
	}
	return all
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksBetweenPagesLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			path, _, _ := strings.Cut(m[1], "#")
			if path == "" || strings.Contains(path, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), path)); err != nil {
				t.Errorf("%s leads to %s, which is not there", page, m[1])
			}
		}
	}
}

func TestTheReadmeNamesEveryPage(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "..") {
			continue
		}
		if !strings.Contains(string(readme), "(docs/"+page+")") {
			t.Errorf("docs/%s is not linked in the README", page)
		}
	}
}
