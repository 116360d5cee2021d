package report

import (
	"fmt"
	"math"
	"strings"

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
	if !(a.to-a.from >= 10) {
		a.to = a.from + 10
	}
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

// tick labels a moment as m:ss, or h:mm:ss where there are hours.
func (a axis) tick(t float64) string {
	sign, n := "", int(math.Round(math.Abs(t)))
	if t < 0 && n > 0 {
		sign = "−"
	}
	if a.hours() {
		return fmt.Sprintf("%s%d:%02d:%02d", sign, n/3600, n/60%60, n%60)
	}
	return fmt.Sprintf("%s%d:%02d", sign, n/60, n%60)
}

// unit is the unit of a tick's label.
func (a axis) unit() string {
	if a.hours() {
		return "h:mm:ss"
	}
	return "m:ss"
}

func (a axis) hours() bool { return max(math.Abs(a.from), math.Abs(a.to)) >= 3600 }

// levels are the values to be labelled on a scale from 0 to top, top included.
func levels(top int) []int {
	for _, n := range []int{4, 3, 5} {
		if top >= n && top%n == 0 {
			out := make([]int, 0, n)
			for i := 1; i <= n; i++ {
				out = append(out, top/n*i)
			}
			return out
		}
	}
	return []int{top}
}

// roundUp is the least value of at least n that divides well.
func roundUp(n int) int {
	switch {
	case n <= 6:
		return max(n, 1)
	case n <= 20:
		return (n + 3) / 4 * 4
	}
	unit := int(math.Pow(10, math.Floor(math.Log10(float64(n)))))
	for _, f := range []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10} {
		if v := int(f * float64(unit)); v >= n {
			return v
		}
	}
	return n
}

func num(f float64) string {
	s := strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", f), "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}
