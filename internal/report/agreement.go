package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

// near is the distance, in seconds, that still counts as agreeing when the
// forecast was missed.
const near = 3.0

// agreementRow compares the forecasts of one phase with the observations, over all runs
// and subjects.
type agreementRow struct {
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

// agreement compares forecasts with observations, a row for each phase that any of the
// records tells of, in the order of view.PhaseNames. It compares only the times, not
// the record's own verdict on them. Records without a summary count for nothing.
func agreement(rs []*record.Record) []agreementRow {
	byName := map[string]*agreementRow{}
	names := runNames(rs)
	for i, r := range rs {
		for _, p := range summaryOf(r).Phases {
			row := byName[p.Name]
			if row == nil {
				row = &agreementRow{Phase: clean(p.Name)}
				byName[p.Name] = row
			}
			row.count(p, names[i])
		}
	}
	var out []agreementRow
	for _, name := range slices.SortedFunc(maps.Keys(byName), func(a, b string) int { return cmp.Or(phaseRank(a)-phaseRank(b), cmp.Compare(a, b)) }) {
		out = append(out, *byName[name])
	}
	return out
}

func (a *agreementRow) count(p view.Phase, run string) {
	d, known := deviation(p, p.Predicted)
	if p.Predicted != nil && !known {
		p.Observed = nil // nobody knows when it was
	}
	switch {
	case p.Predicted == nil && p.Observed != nil:
		a.Unforecast++
	case p.Predicted != nil && p.Observed == nil:
		a.Unobserved++
	case p.Predicted != nil:
		a.Pairs++
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
	if d, known := deviation(p, p.First); known && p.Observed != nil {
		a.FirstPairs++
		if d == 0 {
			a.FirstInside++
		}
	}
}

// deviation is how far a phase was outside a forecast, at least if a blind span hid when
// exactly; negative: too early. known is false if that may be within it or not.
func deviation(p view.Phase, forecast *[2]float64) (d float64, known bool) {
	if p.Observed == nil || forecast == nil {
		return 0, false
	}
	if p.HiddenFrom == nil {
		return away(p, *forecast), true
	}
	last := beyond(*p.Observed, *p.Observed, *forecast)
	switch first := beyond(*p.HiddenFrom, *p.HiddenFrom, *forecast); {
	case first > 0 || first == 0 && last == 0:
		return first, true
	case last < 0:
		return last, true
	}
	return 0, false
}

// agreementTable sets the rows of all records in a table.
func agreementTable(rs []*record.Record) section {
	t := section{Title: "how well the forecasts held"}
	t.columns("phase")
	t.figures("compared", "inside", fmt.Sprintf("within %.0f s", near), "inside at T+0", "not seen", "not forecast", "farthest")
	t.columns("where")
	of := func(n, all int) string {
		if all == 0 {
			return none
		}
		return fmt.Sprintf("%d of %d", n, all)
	}
	for _, a := range agreement(rs) {
		if a.Pairs+a.Unobserved+a.Unforecast == 0 {
			continue
		}
		far, where := none, none
		switch {
		case a.Largest > 0:
			far = fmt.Sprintf("%.1f s late", a.Largest)
		case a.Largest < 0:
			far = fmt.Sprintf("%.1f s early", -a.Largest)
		}
		if a.Largest != 0 {
			where = a.LargestRun + ", " + a.LargestSubject
		}
		t.row(a.Phase, a.Pairs, of(a.Inside, a.Pairs), of(a.Near, a.Pairs), of(a.FirstInside, a.FirstPairs),
			a.Unobserved, a.Unforecast, far, where)
	}
	t.trim("inside at T+0", "farthest", "where")
	return t
}
