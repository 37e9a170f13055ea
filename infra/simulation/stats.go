package simulation

import (
	"reflect"
	"time"
)

// Stats counts what a run had in it.
type Stats struct {
	Steps    int
	Accepted int // by the gate
	Placed   int // by the log, and so on
	Rejected int
	Returned int
	Moved    int // between buckets
	Crashes  int
	Restarts int // of the gate's server, with all its data
	// GateFalls and LogFalls are how often gate and log fell back to an older state; Lost
	// is how often the gate lost a hash.
	GateFalls, LogFalls, Lost int
	// Virtual is how long it took in virtual time.
	Virtual time.Duration
}

// Add adds the numbers of another run.
func (s *Stats) Add(other Stats) {
	to, from := reflect.ValueOf(s).Elem(), reflect.ValueOf(other)
	for i := range to.NumField() {
		to.Field(i).SetInt(to.Field(i).Int() + from.Field(i).Int())
	}
}

// Missing names what never happened.
func (s Stats) Missing() []string {
	var names []string
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if v.Field(i).Int() == 0 {
			names = append(names, v.Type().Field(i).Name)
		}
	}
	return names
}
