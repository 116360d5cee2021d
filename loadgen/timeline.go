package loadgen

import (
	"maps"
	"slices"
	"time"
)

// timeline is the Series of the last seconds in which the generator sent requests or looked at the
// gauge. A request keeps a pointer to its row, so that its end changes that row however late it
// comes. Its owner's lock guards it.
type timeline struct {
	Series
	limit int // how many seconds it keeps
	// growing are the histograms that take more times, oldest first.
	growing []*histogram
}

// histogramSeconds is how many seconds keep all their times. Requests of an
// earlier second which end later are counted, but are not in its quantiles.
const histogramSeconds = DefaultWindowLimit

// at returns the row that t lies in. One that is no longer kept is only the caller's.
func (l *timeline) at(t time.Time) *Row {
	x := l.row(t)
	if len(l.rows) > l.limit {
		l.rows = slices.Delete(l.rows, 0, 1)
	}
	return x
}

// took takes the time of an ok request into its second.
func (l *timeline) took(s *Row, d time.Duration) {
	if s.latency == nil {
		if len(l.growing) == histogramSeconds {
			l.growing[0].freeze()
			l.growing = slices.Delete(l.growing, 0, 1)
		}
		s.latency = newHistogram()
		l.growing = append(l.growing, s.latency)
	}
	s.latency.add(d)
}

// seconds returns the last seconds up to now, oldest first and without gaps.
func (l *timeline) seconds(now time.Time) (out []Second) {
	if len(l.rows) == 0 {
		return nil
	}
	last := now.Truncate(time.Second)
	at := last.Add(-time.Duration(l.limit-1) * time.Second)
	if first := l.rows[0].At; at.Before(first) {
		at = first
	}
	for rows := l.rows[l.from(at):]; !at.After(last); at = at.Add(time.Second) {
		x := Second{At: at}
		if len(rows) > 0 && rows[0].At.Equal(at) {
			x = rows[0].Second
			x.Failed, x.Later, x.Earlier = maps.Clone(x.Failed), maps.Clone(x.Later), maps.Clone(x.Earlier)
			x.Latency = rows[0].latency.quantiles()
			rows = rows[1:]
		}
		out = append(out, x)
	}
	return out
}
