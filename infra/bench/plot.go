package bench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// chart is a plot of lines, ready to be written as SVG.
type chart struct {
	Title, Note  string
	XName, YName string
	Lines        []drawn
	XTicks       []tick
	YTicks       []tick
}

// line is a line to be drawn.
type line struct {
	Name   string
	Xs, Ys []float64
}

// drawn is a line in the coordinates of the chart.
type drawn struct {
	Name, Points string
	Color        int
	Most         string
}

type tick struct {
	At   float64
	Text string
}

// The place of the plot within a chart, in its own units.
const (
	chartWidth, chartHeight = 720.0, 260.0
	plotLeft, plotRight     = 64.0, 12.0
	plotTop, plotBottom     = 12.0, 34.0
)

// colors is how many the page has.
const colors = 6

// scale maps values onto a length.
type scale struct {
	min, max float64
	log      bool
	from, to float64
}

func (s scale) at(v float64) float64 {
	min, max := s.min, s.max
	if s.log {
		min, max, v = math.Log10(min), math.Log10(max), math.Log10(math.Max(v, s.min))
	}
	if max <= min {
		return s.from
	}
	return s.from + (v-min)/(max-min)*(s.to-s.from)
}

// plot draws lines; with log the ordinate is logarithmic.
func plot(title, xName, yName string, log bool, lines ...line) chart {
	c := chart{Title: title, XName: xName, YName: yName}
	x, y := bounds(lines, log)
	for i, l := range lines {
		var points strings.Builder
		most := 0.0
		for j := range l.Xs {
			fmt.Fprintf(&points, "%.1f,%.1f ", x.at(l.Xs[j]), y.at(l.Ys[j]))
			most = math.Max(most, l.Ys[j])
		}
		c.Lines = append(c.Lines, drawn{Name: l.Name, Points: strings.TrimSpace(points.String()), Color: i % colors, Most: number(most)})
	}
	c.XTicks, c.YTicks = ticks(x), ticks(y)
	return c
}

// bounds gives the scales that hold all lines, from 0 or for a logarithm from a power
// of ten.
func bounds(lines []line, log bool) (x, y scale) {
	x = scale{min: math.Inf(1), max: math.Inf(-1), from: plotLeft, to: chartWidth - plotRight}
	y = scale{min: 0, max: 0, from: chartHeight - plotBottom, to: plotTop, log: log}
	least := math.Inf(1)
	for _, l := range lines {
		for i := range l.Xs {
			x.min, x.max, y.max = math.Min(x.min, l.Xs[i]), math.Max(x.max, l.Xs[i]), math.Max(y.max, l.Ys[i])
			if l.Ys[i] > 0 {
				least = math.Min(least, l.Ys[i])
			}
		}
	}
	if math.IsInf(x.min, 0) {
		x.min, x.max = 0, 1
	}
	if x.max <= x.min {
		x.max = x.min + 1
	}
	if y.max <= 0 {
		y.max = 1
	}
	if log {
		if math.IsInf(least, 0) {
			least = y.max / 10
		}
		y.min, y.max = math.Pow(10, math.Floor(math.Log10(least))), math.Pow(10, math.Ceil(math.Log10(y.max)))
		if y.max <= y.min {
			y.max = 10 * y.min
		}
	}
	return x, y
}

// ticks are round values along a scale.
func ticks(s scale) []tick {
	var all []tick
	if s.log {
		for v := s.min; v <= s.max*1.0001; v *= 10 {
			all = append(all, tick{s.at(v), number(v)})
		}
		return all
	}
	step := math.Pow(10, math.Floor(math.Log10((s.max-s.min)/5)))
	for _, times := range []float64{1, 2, 5, 10} {
		if (s.max-s.min)/(step*times) <= 6 {
			step *= times
			break
		}
	}
	for n := math.Ceil(s.min / step); n*step <= s.max*1.0001; n++ {
		v := n*step + 0 // of -0 it makes 0
		all = append(all, tick{s.at(v), number(v)})
	}
	return all
}

// number writes a value with no more digits than it deserves.
func number(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + " M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + " k"
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'g', 4, 64)
}
