package tui

import "time"

// quiet reports whether there is no load to draw: no request is under way, and none was in
// the seconds that a chart of w cells shows.
func quiet(s *scene, w int) bool {
	run := &s.f.Load
	if run.Active || run.Totals.InFlight() > 0 {
		return false
	}
	from := s.now.Add(-time.Duration(w) * time.Duration(chartSpans[s.span]) * time.Second)
	for i := len(run.Seconds) - 1; i >= 0 && !run.Seconds[i].At.Before(from); i-- {
		if sec := &run.Seconds[i]; sec.Sent > 0 || sec.InFlight() > 0 || sec.FailedIn().Sum() > 0 {
			return false
		}
	}
	return true
}

// quietLanes is how many lanes of nodes there are while there is no load: none on a low
// screen.
func quietLanes(s *scene, w int) int {
	return min(len(gatherLanes(s, w-leastLabel-1)), btoi(s.h >= lowHeight)*(1+(s.h-wideHeight)/6))
}

// quietLines is how many lines the requests take while there is no load: their account, which stands in the title of a low, wide
// screen if nothing was sent, and, while nodes are down, unless the screen is low, lanes with a time axis.
func quietLines(s *scene, w int) int {
	lanes := quietLanes(s, w)
	return btoi(s.h >= lowHeight || w < wideWidth-2 || s.f.Load.Totals.Scheduled > 0) + lanes + btoi(lanes > 0)
}

// quiet draws the account of all requests and, as far as h lines have room, lanes and axis.
func (c *chart) quiet(s *scene, w, h int) []string {
	out := []string{ledger(s, w, nil)}
	if h > 1 {
		c.divide(s, w, min(quietLanes(s, w), h-1))
		for _, l := range c.lanes {
			out = append(out, c.lane(l, w))
		}
		if h > len(out) {
			out = append(out, c.times(s, w))
		}
	}
	return fill(out, w, h)
}
