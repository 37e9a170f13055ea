package plan

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// MeasurementFile is the name of the last measurement in the data folder.
const MeasurementFile = "unit.json"

// measurementForm is the form that is written; a newer one is not read.
const measurementForm = 1

// measuredBy is the command that makes measurements.
const measuredBy = "seckill bench unit"

// Measurement is what single things cost on one machine, by the keys of the costs, with
// when and with what it was taken.
type Measurement struct {
	Form     int       `json:"form"`
	At       time.Time `json:"at"`
	Module   string    `json:"module"`
	Go       string    `json:"go"`
	Postgres string    `json:"postgresql"`
	Redis    string    `json:"redis"`
	Machine  string    `json:"machine"`
	// Seconds is how long it took.
	Seconds float64            `json:"seconds"`
	Values  map[string]float64 `json:"values"`
}

// NewMeasurement makes one of these values.
func NewMeasurement(values map[string]float64) Measurement {
	return Measurement{Form: measurementForm, Values: values}
}

// Validate refuses a measurement that nobody can compute with.
func (m Measurement) Validate() error {
	var bad []error
	if m.Form < 1 || m.Form > measurementForm {
		bad = append(bad, fmt.Errorf("it has form %d, and this program reads up to %d", m.Form, measurementForm))
	}
	if len(m.Values) == 0 {
		bad = append(bad, errors.New("it has no values"))
	}
	for key, v := range m.Values {
		if !(v > 0) || math.IsInf(v, 0) {
			bad = append(bad, fmt.Errorf("%s is %v: want above 0", key, v))
		}
	}
	return errors.Join(bad...)
}

// Costs gives the costs with what was measured in the place of the built-in figures;
// what it does not say stays as it is in Measured.
func (m Measurement) Costs() Costs {
	c := Measured()
	for _, cost := range c.each() {
		if v, ok := m.Values[cost.Key]; ok {
			cost.Value, cost.Command = v, measuredBy
			cost.Unit, _, _ = strings.Cut(cost.Unit, ";") // what follows is about the built-in figure
		}
	}
	if _, ok := m.Values[KeyGateAccepted]; ok {
		c.GateAccepted.Name = "a reservation in the gate, as many in a call as came together"
	}
	return c
}

// Source says where the unit costs of a plan come from.
type Source struct {
	// Kind is measured, by bench unit on this machine, or built-in: figures of two cores
	// of another one.
	Kind string `json:"kind"`
	// At and With are when and with which versions, of a measured one.
	At   *time.Time `json:"at,omitempty"`
	With string     `json:"with,omitempty"`
}

// Kinds of sources.
const (
	SourceMeasured = "measured"
	SourceBuiltIn  = "built-in"
)

// Source names the measurement as one.
func (m Measurement) Source() Source {
	at := m.At.UTC()
	return Source{Kind: SourceMeasured, At: &at, With: fmt.Sprintf("%s, %s, PostgreSQL %s, Redis %s, %s", m.Module, m.Go, m.Postgres, m.Redis, m.Machine)}
}
