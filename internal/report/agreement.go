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

// agreementRow compares the forecasts of one phase with the observations, over all runs and
// subjects.
type agreementRow struct {
	// pairs counts those that were forecast and observed; inside of them were within the forecast,
	// unknown those of which nobody saw exactly when they happened.
	pairs, inside, unknown int
	// farthest is the largest distance from the forecast in seconds, 0 if all are inside; positive
	// is late, negative early. where is its run and subject.
	farthest float64
	where    string
	// unobserved counts those that were forecast and never observed, unforecast the reverse.
	unobserved, unforecast int
}

func (a *agreementRow) count(p view.Phase, run string) {
	switch {
	case p.Predicted == nil && p.Observed == nil:
	case p.Predicted == nil:
		a.unforecast++
	case p.Observed == nil:
		a.unobserved++
	case p.Inside == nil:
		a.unknown++
	default:
		a.pairs++
		if *p.Inside {
			a.inside++
		} else if d := away(p, *p.Predicted); math.Abs(d) > math.Abs(a.farthest) {
			a.farthest, a.where = d, run+", "+clean(p.Subject)
		}
	}
}

// agreementTable shows how well the forecasts of all records held, a row for each phase.
func agreementTable(rs []*record.Record) section {
	t := section{Title: "how well the forecasts held"}
	t.columns("phase")
	t.figures("compared", "inside", "unknown", "not seen", "not forecast", "farthest")
	t.columns("where")
	rows := map[string]*agreementRow{}
	names := runNames(rs)
	for i, r := range rs {
		for _, p := range summaryOf(r).Phases {
			if rows[p.Name] == nil {
				rows[p.Name] = &agreementRow{}
			}
			rows[p.Name].count(p, names[i])
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(rows), func(a, b string) int { return cmp.Or(phaseRank(a)-phaseRank(b), cmp.Compare(a, b)) }) {
		a, inside, far := rows[name], none, none
		if a.pairs+a.unknown+a.unobserved+a.unforecast == 0 {
			continue
		}
		if a.pairs > 0 {
			inside = fmt.Sprintf("%d of %d", a.inside, a.pairs)
		}
		if a.farthest != 0 {
			far = missed(a.farthest)
		}
		t.row(name, a.pairs, inside, some(a.unknown), a.unobserved, a.unforecast, far, orNone(a.where))
	}
	t.trim("unknown", "farthest", "where")
	return t
}
