package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/text"
)

// instant writes a time as an offset; zero is a dash.
func instant(r *record.Record, t time.Time) string {
	return given(t, func(t time.Time) string { return offset(t.Sub(base(r)).Seconds()) })
}

// lasts is the length of an interval as its offsets tell it, in seconds.
func lasts(r *record.Record, from, to time.Time) float64 {
	return apart(from.Sub(base(r)).Seconds(), to.Sub(base(r)).Seconds())
}

// apart is how many seconds lie between two offsets, as they are written.
func apart(from, to float64) float64 { return (math.Round(to*10) - math.Round(from*10)) / 10 }

func nodesTable(r *record.Record, all []Facts) section {
	t := section{ID: "nodes", Title: "Nodes that went down"}.columns("node", "how", "#from", "#off", "#heartbeat overdue", "#NotReady", "#evicted", "#object deleted", "#on asked", "#booted", "#Ready", "#down for")
	ids := bootIDsOf(r)
	rows := slices.Concat(nodesIn(all), planned(r))
	all[0].pods.evict(r, rows)
	slices.SortStableFunc(rows, func(a, b NodeFacts) int { return a.From.Compare(b.From) })
	for i := range rows {
		n := &rows[i]
		how := map[bool]string{true: "planned: "}[r.Unplanned() && n.Reason.Kind == outage.ByAnother]
		length := cell{Text: seconds(lasts(r, n.From, n.To))}
		if n.To.IsZero() {
			length = cell{"at least " + seconds(lasts(r, n.From, r.End)) + ", and still down", bad}
			length.Text += map[bool]string{true: ": not Ready yet, its machine on again"}[!n.On().IsZero()]
		}
		t.row(n.Node, how+n.Cause.Text+returned(n, ids[n.Node], 1), instant(r, n.From), instant(r, n.Since(outage.SpanOff)),
			instant(r, n.Since(outage.SpanSilent)), instant(r, n.Since(outage.SpanNotReady)), instant(r, n.Evicted),
			instant(r, n.Since(outage.SpanGone)), instant(r, n.OnAsked), instant(r, n.Booted), readyOf(r, n), length)
	}
	if len(t.Rows) > 0 {
		t.say(plain, "From the request to go off, or from when all was well last; a dash is a time that lightsout did not see.")
	}
	unknown := slices.DeleteFunc(nodesIn(all), func(n NodeFacts) bool { return n.asked() || !n.To.IsZero() || n.First(outage.SpanOff) != nil })
	if len(unknown) > 0 {
		t.Items = append(t.Items, cell{"It is unknown whether the machine failed or only its network: no power API reported " + named(unknown) + " off in this record, and the boot ID tells only after the return.", warning})
	}
	return t
}

// readyOf is when a node was Ready, and each time that it was NotReady again after that.
func readyOf(r *record.Record, n *NodeFacts) string {
	said := none
	for i, s := range n.NotReady() {
		if i == 0 {
			said = instant(r, s.To)
		} else {
			said += ", NotReady again for " + seconds(lasts(r, s.From, cmp.Or(s.To, r.End))) + " at " + instant(r, s.From)
		}
	}
	return said
}

// returned tells a node whose machine booted from one whose machine most likely ran on: that reports
// the boot ID that it had before it was seen down. One that the record first shows while the node is
// down may be new. It speaks for so many nodes that are alike.
func returned(n *NodeFacts, b bootID, of int) string {
	machines := "; " + text.Noun(of, "its machine", "their machines")
	switch {
	case n.asked():
	case !n.Booted.IsZero():
		return machines + " went down and booted again"
	case !n.To.IsZero() && n.First(outage.SpanOff) == nil && b.id != "" && b.from.Before(n.Spans[0].From):
		return machines + " most likely ran on: the boot ID is the same"
	}
	return ""
}

// some writes a number; 0 is a dash.
func some(n int) string { return given(n, itoa) }

func podsTable(r *record.Record, all []Facts) section {
	t := section{ID: "pods", Title: "Workloads, the worst first"}.columns("#outage", "workload", "#available at the lowest", "#missing from", "#until", "#for", "#without a node", "why")
	t.say(plain, "First those that had no pod left, for longest; then by how many pods were missing for how long. Pods are missing as Kubernetes counts them: those on a node that is silent were lost up to "+gracePeriod+" earlier.")
	for i := range all {
		if len(all[i].Nodes) == 0 && !r.Unplanned() {
			continue
		}
		for _, w := range all[i].Workloads {
			lowest, length, pending := w.count(itoa(w.Of)), none, some(w.Pending)
			var from, until []string
			for _, l := range w.lacks {
				from, until = append(from, instant(r, l.from)), append(until, instant(r, l.to))
			}
			if w.After.IsZero() && len(from) > 0 && !w.From.IsZero() {
				from[0] += " or before"
			}
			if w.AtEnd > 0 {
				until[len(until)-1] = text.Count(w.AtEnd, "pod", "pods") + " " + atEnd(r)
			}
			if s, known := w.lasted(r); known {
				length = w.least() + seconds(s)
			}
			pending += map[bool]string{true: ", " + text.Noun(max(w.Pending-w.pendingLast, 0)+1, "", itoa(w.pendingLast)+" of them ") + "until " + instant(r, w.PendingTo)}[!w.PendingTo.IsZero()]
			t.row(instant(r, all[i].From), orNone(w.Key.String()), lowest, orNone(strings.Join(from, ", ")), orNone(strings.Join(until, ", ")), length, pending, orNone(w.Why))
		}
	}
	return t
}
