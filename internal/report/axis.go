package report

import (
	"math"
	"strconv"

	"lightsout/internal/record"
)

// The picture's measures, in its own units.
const (
	pictureWidth = 1180.0
	plotLeft     = 236.0 // the labels' gutter ends here
	plotRight    = 1156.0
)

// axis is the picture's common time axis, in seconds from base.
type axis struct{ from, to float64 }

// axisOf spans the whole record, at least ten seconds.
func axisOf(r *record.Record) axis {
	a := axis{r.Start.Sub(base(r)).Seconds(), r.End.Sub(base(r)).Seconds()}
	if n := len(r.Seconds); n > 0 {
		a.from = min(a.from, r.Seconds[0].At.Sub(base(r)).Seconds())
		a.to = max(a.to, r.Seconds[n-1].At.Sub(base(r)).Seconds()+1)
	}
	a.to = max(a.to, a.from+10)
	return a
}

// x returns the position of a moment in the picture; a moment off the axis is at its
// end.
func (a axis) x(s float64) float64 {
	f := (s - a.from) / (a.to - a.from)
	return plotLeft + min(max(f, 0), 1)*(plotRight-plotLeft)
}

// steps are the distances in seconds that people count in.
var steps = []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400}

// step is the least of steps that divides the span into at most most parts.
func step(span float64, most int) float64 {
	for _, s := range steps {
		if span/s <= float64(most) {
			return s
		}
	}
	s := steps[len(steps)-1]
	return s * math.Ceil(span/s/float64(most))
}

// ticks are the moments to be labelled, zero among them if it is on the axis.
func (a axis) ticks() []float64 {
	s := step(a.to-a.from, 14)
	var out []float64
	for t := math.Ceil(a.from/s) * s; t <= a.to; t += s {
		out = append(out, t)
	}
	return out
}

// scaleOf is a scale for values of up to n: its top, and the distance of the values to be labelled.
func scaleOf(n int) (top, each int) {
	for unit := 1; ; unit *= 10 {
		for _, f := range []int{1, 2, 4, 5} {
			if each = f * unit; n <= 5*each {
				return max((n+each-1)/each, 1) * each, each
			}
		}
	}
}

// num writes a number with at most two decimals.
func num(f float64) string { return strconv.FormatFloat(math.Round(f*100)/100+0, 'f', -1, 64) }
