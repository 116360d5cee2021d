package trial

import (
	"fmt"
	"math"

	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
)

// value is what the observations tell of a measure: it lay from lo to hi, both included. An end
// that nobody observed is infinite.
type value struct {
	lo, hi float64
	// want are the bounds of the expectation, or the forecast.
	want [2]float64
	got  string
}

// everything are bounds within which every value lies; nothing lies within nothing.
var (
	everything = [2]float64{math.Inf(-1), math.Inf(1)}
	nothing    = [2]float64{math.Inf(1), math.Inf(-1)}
)

const noForecast = ", with no forecast"

func exactly(v float64, got string) value { return value{v, v, everything, got} }

func unknown(got string) value { return value{math.Inf(-1), math.Inf(1), everything, got} }

// holds reports whether the value certainly lies within its bounds. Nothing is certain of a value of
// which neither end was observed.
func (v value) holds() bool {
	known := !math.IsInf(v.lo, -1) || !math.IsInf(v.hi, 1)
	return known && v.want[0] <= v.lo && v.hi <= v.want[1]
}

// misses reports whether the value certainly lies outside its bounds.
func (v value) misses() bool { return v.hi < v.want[0] || v.lo > v.want[1] }

// within sets the bounds of an expectation that has bounds of its own.
func (v value) within(x plan.Expectation) value {
	if x.Min != nil {
		v.want[0] = *x.Min
	}
	if x.Max != nil {
		v.want[1] = *x.Max
	}
	return v
}

// forecast sets the forecast of a phase as the bounds of an expectation that wants it.
func (v value) forecast(x plan.Expectation, p view.Phase) value {
	switch {
	case !x.Predicted:
		return v
	case p.Predicted == nil:
		v.want, v.got = nothing, v.got+noForecast
		return v
	case p.Inside == nil:
		v.want = [2]float64{tenth(p.Predicted[0]), tenth(p.Predicted[1])}
	case !*p.Inside: // by times that are more precise
		v.want = nothing
	}
	if p.Observed != nil {
		v.got += fmt.Sprintf(" (forecast %.1f–%.1f s)", p.Predicted[0], p.Predicted[1])
		if at := tenth(*p.Observed); p.Inside != nil && !*p.Inside && tenth(p.Predicted[0]) <= at && at <= tenth(p.Predicted[1]) { // which does not show it
			v.got += fmt.Sprintf(", more exactly %.3f s of %.3f–%.3f s", *p.Observed, p.Predicted[0], p.Predicted[1])
		}
	}
	return v
}

// tenth rounds seconds as they are shown, so that what a reader sees is what is judged.
func tenth(seconds float64) float64 { return math.Round(seconds*10) / 10 }
