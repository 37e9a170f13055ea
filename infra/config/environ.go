package config

import (
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// ours begins the names of our variables.
const ours = "SECKILL_"

// foreign are names that others put beside ours: what a cluster tells of a service
// called seckill, and what our own tests use.
var foreign = regexp.MustCompile(`^SECKILL_(.*_)?(SERVICE_(HOST|PORT)|PORT)(_.*)?$|^SECKILL_(TEST|CRASH)_`)

// Environment looks for variables that look like settings of app and are none. One
// that is nearly the name of a setting is a slip of the pen, and an *InvalidError;
// the others are given back to be told of: they have no effect. environ has the form
// of os.Environ; an empty value counts as none.
func Environment(app *kong.Application, environ []string) (without []string, err error) {
	known, err := variables(app)
	if err != nil {
		return nil, err
	}
	var p problems
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, ours) || value == "" || known[name] || foreign.MatchString(name) {
			continue
		}
		if meant := nearest(name, known); meant != "" {
			p.check(false, "%s is set, which is not a setting. Do you mean %s?", name, meant)
			continue
		}
		without = append(without, name)
	}
	slices.Sort(without)
	if len(p) > 0 {
		return without, &InvalidError{Problems: p}
	}
	return without, nil
}

// variables gives the names of all settings and flags that the environment may set.
func variables(app *kong.Application) (map[string]bool, error) {
	known := map[string]bool{}
	err := kong.Visit(app, func(n kong.Visitable, next kong.Next) error {
		if flag, ok := n.(*kong.Flag); ok {
			for _, env := range flag.Envs {
				known[env] = true
			}
		}
		return next(nil)
	})
	return known, err
}

// maxSlips is how many letters may be wrong, missing or too many in a name that is
// taken for a slip of the pen.
const maxSlips = 2

// nearest gives the known name that is the fewest slips away, "" where none is near.
func nearest(name string, known map[string]bool) string {
	best, fewest := "", maxSlips+1
	for other := range known {
		if n := slips(name, other); n < fewest || n == fewest && n <= maxSlips && other < best {
			best, fewest = other, n
		}
	}
	return best
}

// slips is the Levenshtein distance of two names.
func slips(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := above
			if a[i] != b[j] {
				change++
			}
			above, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
