package report

import (
	"fmt"
	"math"

	"lightsout/internal/view"
)

// fit is where an observation lies against its forecast.
type fit int

const (
	fitNone    fit = iota // it was not forecast, or not observed
	fitInside             // within its forecast
	fitOutside            // earlier or later
	fitUnknown            // nobody saw exactly when: it may have happened within its forecast
)

// fitOf is what the summary holds of a phase.
func fitOf(p view.Phase) fit {
	switch {
	case p.Predicted == nil || p.Observed == nil:
		return fitNone
	case p.Inside == nil:
		return fitUnknown
	case *p.Inside:
		return fitInside
	}
	return fitOutside
}

// away is how far an observed phase lies outside a forecast, in seconds: 0 inside, negative
// before it, positive after it. A time by the source's clock, in whole seconds, may be up to a
// second later.
func away(p view.Phase, forecast [2]float64) float64 {
	first, last := *p.Observed, *p.Observed
	if p.Source != nil && *p.Source == first {
		last++
	}
	switch {
	case last < forecast[0]:
		return first - forecast[0]
	case first > forecast[1]:
		return first - forecast[1]
	}
	return 0
}

// inside is where an observation lies against its forecast, in a word or two.
func inside(p view.Phase) cell {
	switch fitOf(p) {
	case fitInside:
		return cell{"yes", good}
	case fitOutside:
		return cell{"no" + miss(p), bad}
	case fitUnknown:
		return cell{"not observed", warning}
	}
	return cell{Text: none}
}

// miss is by how much a phase missed its forecast: ", 1.2 s late".
func miss(p view.Phase) string {
	if d := away(p, *p.Predicted); d != 0 {
		return ", " + missed(d)
	}
	return ""
}

// missed describes a distance from a forecast that is not 0.
func missed(d float64) string {
	return fmt.Sprintf("%.1f s %s", math.Abs(d), map[bool]string{true: "early", false: "late"}[d < 0])
}
