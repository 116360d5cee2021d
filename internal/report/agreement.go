package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

// near is the distance, in seconds, that still counts as agreeing when the
// forecast was missed.
const near = 3.0

// AgreementRow says how well the forecasts of one phase agree with what was
// observed, over all runs and subjects.
type AgreementRow struct {
	Phase string
	// Pairs counts those that were forecast and observed. Inside of them were
	// observed within the forecast, Near of them within it or at most 3 s away.
	Pairs, Inside, Near int
	// Largest is the largest distance from the forecast in seconds, 0 when all
	// are inside; LargestRun and LargestSubject are where. A positive distance is
	// late, a negative one early.
	Largest                    float64
	LargestRun, LargestSubject string
	// FirstPairs and FirstInside are Pairs and Inside for the forecast as it
	// stood at zero.
	FirstPairs, FirstInside int
	// Unobserved counts those that were forecast and never observed, Unforecast
	// those that were observed and not forecast.
	Unobserved, Unforecast int
}

// Agreement reckons how well forecasts and observations agree, a row for each
// phase that any of the records tells of, in the order of view.PhaseNames.
// It looks at the times alone, not at what a record says of them. Records without
// a summary count for nothing.
func Agreement(rs []*record.Record) []AgreementRow {
	byName := map[string]*AgreementRow{}
	var others []string
	names := runNames(rs)
	for i, r := range rs {
		if r.Summary == nil {
			continue
		}
		for _, p := range r.Summary.Phases {
			row := byName[p.Name]
			if row == nil {
				row = &AgreementRow{Phase: clean(p.Name)}
				byName[p.Name] = row
				if !slices.Contains(view.PhaseNames, p.Name) {
					others = append(others, p.Name)
				}
			}
			row.count(p, names[i])
		}
	}
	slices.Sort(others)
	var out []AgreementRow
	for _, name := range slices.Concat(view.PhaseNames, others) {
		if row := byName[name]; row != nil {
			out = append(out, *row)
		}
	}
	return out
}

func (a *AgreementRow) count(p view.Phase, run string) {
	switch {
	case p.Predicted == nil && p.Observed != nil:
		a.Unforecast++
	case p.Predicted != nil && p.Observed == nil:
		a.Unobserved++
	case p.Predicted != nil:
		a.Pairs++
		d := distance(*p.Observed, *p.Predicted)
		if d == 0 {
			a.Inside++
		}
		if math.Abs(d) <= near {
			a.Near++
		}
		if math.Abs(d) > math.Abs(a.Largest) {
			a.Largest, a.LargestRun, a.LargestSubject = d, run, clean(p.Subject)
		}
	}
	if p.First != nil && p.Observed != nil {
		a.FirstPairs++
		if distance(*p.Observed, *p.First) == 0 {
			a.FirstInside++
		}
	}
}

// String tells the row in one sentence: "detected: inside the forecast 38 of 40,
// within 3 s of it 40 of 40, largest distance 1.2 s late (mdx-7, kube-node3)".
func (a AgreementRow) String() string {
	var parts []string
	if a.Pairs > 0 {
		parts = append(parts,
			fmt.Sprintf("inside the forecast %d of %d", a.Inside, a.Pairs),
			fmt.Sprintf("within %.0f s of it %d of %d", near, a.Near, a.Pairs))
		switch {
		case a.Largest > 0:
			parts = append(parts, fmt.Sprintf("largest distance %.1f s late (%s, %s)", a.Largest, a.LargestRun, a.LargestSubject))
		case a.Largest < 0:
			parts = append(parts, fmt.Sprintf("largest distance %.1f s early (%s, %s)", -a.Largest, a.LargestRun, a.LargestSubject))
		}
	}
	if a.FirstPairs > 0 {
		parts = append(parts, fmt.Sprintf("inside the forecast at zero %d of %d", a.FirstInside, a.FirstPairs))
	}
	if a.Unobserved > 0 {
		parts = append(parts, fmt.Sprintf("forecast and not observed %d", a.Unobserved))
	}
	if a.Unforecast > 0 {
		parts = append(parts, fmt.Sprintf("observed and not forecast %d", a.Unforecast))
	}
	if parts == nil {
		parts = []string{"neither forecast nor observed"}
	}
	return a.Phase + ": " + strings.Join(parts, ", ")
}
