package config

import (
	"errors"
	"strconv"
	"strings"

	"seckill/domain"
	"seckill/infra/redisconn"
)

// LaneURLs are addresses of Redis for lanes that have one of their own, RANGE=URL with
// spaces between, such as "32-47=redis://h:6379 63=redis://i:6379". It shows itself
// without passwords. Call Ranges to use it.
type LaneURLs string

// LaneURL is the address of lanes From to To, both meant.
type LaneURL struct {
	From, To int
	URL      URL
}

// errLanes is what is wrong with a text that is no LaneURLs.
var errLanes = errors.New("must be ranges of lanes from 0 to " + strconv.Itoa(domain.Lanes-1) +
	" and the address of each, with spaces between, such as 32-63=redis://:password@host:6379/0, and no lane twice")

// Ranges reads the text. The error is the rest of a sentence that begins with the name
// of the setting, and repeats nothing of it.
func (l LaneURLs) Ranges() ([]LaneURL, error) {
	var all []LaneURL
	var taken [domain.Lanes]bool
	for _, field := range strings.Fields(string(l)) {
		lanes, url, ok := strings.Cut(field, "=")
		from, to, several := strings.Cut(lanes, "-")
		if !several {
			to = from
		}
		r := LaneURL{URL: URL(url)}
		var err1, err2 error
		r.From, err1 = strconv.Atoi(from)
		r.To, err2 = strconv.Atoi(to)
		if !ok || err1 != nil || err2 != nil || r.From < 0 || r.From > r.To || r.To >= domain.Lanes {
			return nil, errLanes
		}
		for lane := r.From; lane <= r.To; lane++ {
			if taken[lane] {
				return nil, errLanes
			}
			taken[lane] = true
		}
		if _, err := redisconn.Parse(url); err != nil {
			return nil, errors.New("has an address that " + err.Error())
		}
		all = append(all, r)
	}
	return all, nil
}

// String hides passwords, and everything if it cannot be read.
func (l LaneURLs) String() string {
	if l == "" {
		return ""
	}
	all, err := l.Ranges()
	if err != nil {
		return hidden
	}
	shown := make([]string, len(all))
	for i, r := range all {
		shown[i] = strconv.Itoa(r.From) + "-" + strconv.Itoa(r.To) + "=" + r.URL.String()
	}
	return strings.Join(shown, " ")
}

// GoString keeps %#v from showing passwords.
func (l LaneURLs) GoString() string { return `"` + l.String() + `"` }

// MarshalText keeps JSON and log handlers from showing passwords.
func (l LaneURLs) MarshalText() ([]byte, error) { return []byte(l.String()), nil }
