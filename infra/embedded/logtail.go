package embedded

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

var errPortTaken = errors.New("the port was taken in the meantime")

// startFailure is why a server ended before it was ready, in its own words.
func (s server) startFailure() error {
	raw, err := os.ReadFile(s.file("server.log"))
	if err != nil {
		return fmt.Errorf("%s ended before it was ready, and its log cannot be read: %w", s.name, err)
	}
	text := string(raw)
	if strings.Contains(text, "Address already in use") || strings.Contains(text, "Could not create server TCP listening socket") {
		return errPortTaken
	}
	return fmt.Errorf("%s ended before it was ready; the end of its log %s: %s", s.name, s.file("server.log"), lastLines(text, 5))
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}
