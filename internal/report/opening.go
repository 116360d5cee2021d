package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// outagesMost is the largest number of outages in the opening, and reasonsMost that of reasons why pods were missing in one.
const outagesMost, reasonsMost = 3, 2

// Opening is what a person would say of a record, in at most three paragraphs: what happened, why, and what to change; or
// one for each outage.
func Opening(r *record.Record) []string { return opening(r, causesOf(r, factsOf(r))) }

// opening has sentences for each outage of a record, on its nodes, requests and pods, and one for each other thing
// without which they would mislead.
func opening(r *record.Record, c *causes) (out []string) {
	if r.Start.IsZero() {
		return []string{"The record is empty: what happened is unknown."}
	}
	all := c.all
	const what, why, change = 0, 1, 2 // the paragraphs of one outage
	shown := make([][3]string, min(len(all), outagesMost))
	at := &shown[0]
	add := func(part int, of string, parts ...string) {
		if s := joined(parts...); s != "" {
			at[part] = strings.TrimPrefix(at[part]+" "+text.Clean(of+strings.TrimSuffix(s, ".")+".", 2*textMost), " ")
		}
	}
	if s := summaryOf(r); s.Verdict == view.Aborted && len(s.Why) > 0 {
		add(what, "", text.Capital(clean(s.Why[0])))
	}
	target, silence := targetOf(r), unknownIn(r, all)
	of := " of lightsout" + target
	for i := range shown {
		f, c := &all[i], c.in(i)
		at = &shown[i]
		if r.Unplanned() && c.unreached(f) {
			add(what, "", silence)
			silence = ""
		}
		add(what, "", whatOf(r, f), beforeOf(f))
		for _, said := range []string{f.Clients.text(of), podsOf(r, f)} {
			add(what, "", strings.Replace(text.Capital(said), "Lightsout ", "lightsout ", 1))
		}
		if f.Clients.Sent+f.Clients.Failed > 0 && f.Clients.Known != KnownNever {
			of, target = "", ""
		}
		add(why, "Why requests failed for so long: ", c.errors(f))
		lost := slices.DeleteFunc(slices.Clone(f.Workloads), func(w Workload) bool { return w.Why == "" || w.lost() == 0 })
		lost = lost[:min(len(lost), workloadsMost)]
		for told := 0; len(lost) > 0 && told < reasonsMost; told++ { // the table has all
			var names []string
			var on []NodeFacts
			held := lost[0].held
			lost = slices.DeleteFunc(lost, func(w Workload) bool {
				if w.held == held {
					names, on = append(names, clean(w.Key.String())), append(on, w.on...)
				}
				return w.held == held
			})
			add(why, "Why pods of "+text.List(names)+" were missing: ", where(on), held)
		}
		add(change, "To shorten it: ", shorterOf(r, c, i).Brief)
		if len(f.Workloads) == 1 { // the first paragraph names it
			of := f.Workloads[0].of()
			at[why], at[change] = strings.ReplaceAll(at[why], of, ""), strings.ReplaceAll(at[change], of, "")
		}
	}
	if n := len(all) - len(shown); n > 0 {
		add(change, "", fmt.Sprintf("%s of %s followed: see the tables", text.Count(n, "more outage", "more outages"), named(nodesIn(all[outagesMost:]))))
	}
	if len(all[0].Nodes) > 0 {
		add(why, "", text.Capital(strings.Join(signsBeside(r, true, time.Time{}), "; ")))
	}
	add(why, "", silence)
	add(why, "By plan, ", who(r, planned(r)))
	add(what, "", text.Capital(joined(requestsIn(r, all, target)...)))
	add(what, "", doneIn(r, all))
	switch {
	case r.Recording:
		add(what, "", "lightsout is still recording: this is what it knew at "+clock(r.End)+" UTC")
	case broken(r):
		add(what, "", "The record breaks off at "+clock(r.End)+" UTC: what happened later is unknown, and so is how the requests in flight ended")
	}
	if out = at[:]; len(shown) > 1 { // a paragraph each
		out = text.Each(shown, func(s [3]string) string { return strings.Join(strings.Fields(strings.Join(s[:], " ")), " ") })
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// joined joins the parts that there are.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}

// whatOf is what went down, or what else was a sign of the outage.
func whatOf(r *record.Record, f *Facts) string {
	if len(f.Nodes) > 0 {
		return who(r, f.Nodes)
	}
	if signs := signsBeside(r, false, f.pods.placed(r)); len(signs) > 0 {
		return text.Capital(strings.Join(signs, "; "))
	}
	return "No node went down between " + clock(r.Start) + " and " + clock(r.End) + " UTC"
}

// clock is a time of the day, in UTC.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// who names the nodes, how they went down and when, for how long, and why that ended. Those that went down alike within
// 2 s, and are alike at the end, are told together, each once.
func who(r *record.Record, all []NodeFacts) string {
	var groups [][]NodeFacts
	ids := bootIDsOf(r)
	end := func(n NodeFacts) string { return n.end() + returned(&n, ids[n.Node], 1) }
	for _, n := range all {
		known := func(x NodeFacts) bool { return x.Node == n.Node && x.Cause == n.Cause }
		last := len(groups) - 1
		switch {
		case slices.ContainsFunc(slices.Concat(groups...), known):
		case last >= 0 && groups[last][0].Cause == n.Cause && n.From.Sub(groups[last][0].From) < 2*time.Second && end(groups[last][0]) == end(n):
			groups[last] = append(groups[last], n)
		default:
			groups = append(groups, []NodeFacts{n})
		}
	}
	var parts []string
	for _, nodes := range groups {
		first := nodes[0]
		at := " at " + clock(first.From)
		at += map[bool]string{true: " UTC"}[len(parts) == 0]
		parts = append(parts, named(nodes)+" "+text.Noun(len(nodes), first.Cause.One, first.Cause.Several)+at+gone(r, nodes))
	}
	return text.List(parts)
}

// end is how its time down lasted to the end of the record; empty if it did not.
func (n *NodeFacts) end() string {
	switch {
	case !n.To.IsZero():
		return ""
	case !n.On().IsZero():
		return "not Ready yet"
	case n.Off():
		return "still off"
	}
	return "still down"
}

// gone is for how long nodes that are alike at the end were down, and why no longer; empty if that was not seen.
func gone(r *record.Record, nodes []NodeFacts) string {
	why, least := nodes[0].end(), "at least "
	var to, asked, on time.Time
	for _, n := range nodes {
		to, asked, on = latest(to, n.To), latest(asked, n.OnAsked), latest(on, n.On())
	}
	switch aborted := func(e view.Event) bool { return e.Code == view.CodeTrialAborted && !e.At.After(asked) }; {
	case len(nodes[0].Spans) == 0:
		return ""
	case why != "" && !on.IsZero():
		why += " " + atEnd(r) + ", " + text.Noun(len(nodes), "its machine", "their machines") + " on since " + clock(on)
	case nodes[0].Off(): // by the power API, to the end
		why += " " + asOf(r)
	case why != "":
		why += " " + atEnd(r)
	case asked.IsZero() && !slices.ContainsFunc(nodes, func(n NodeFacts) bool {
		return n.Proven.IsZero() && (n.Reason.Kind != outage.ByAnother || n.Booted.IsZero())
	}):
		why, least = "another program or person powered "+text.Noun(len(nodes), "it", "them")+" on", ""
	case asked.IsZero():
		why, least = "lightsout does not know why "+text.Noun(len(nodes), "it", "they")+" came back"+returned(&nodes[0], bootIDsOf(r)[nodes[0].Node], len(nodes)), ""
	default:
		why, least = "lightsout asked for power-on at "+clock(asked)+map[bool]string{true: ", as the trial was aborted"}[slices.ContainsFunc(r.Events, aborted)], ""
	}
	return ", down for " + lasted(least, lasts(r, nodes[0].From, cmp.Or(to, lastSight(r)))) + " (" + why + ")"
}

// named names nodes, each once, or counts them where there are many.
func named(nodes []NodeFacts) string {
	return text.List(few(text.Each(nodes, func(n NodeFacts) string { return clean(n.Node) }), "more nodes"))
}

// text is what became of the requests; of stands after their first mention.
func (c Clients) text(of string) string {
	least, failed := c.least(), map[bool]string{true: " failed", false: " is known to have failed"}[c.Known == KnownAll]
	said := "no" + map[bool]string{true: " further"}[c.Before > 0] + " request" + of + failed
	switch {
	case c.Known == KnownNever:
		said = NeverAnswered
	case len(c.Windows) > 0:
		said = least + fmt.Sprintf("%d of %d requests%s sent meanwhile failed, within %s", c.InWindows, max(c.Sent, c.InWindows), of, lasted(least, c.ErrorTime))
		said += map[bool]string{true: ": " + classes(c.ByClass)}[loadgen.ByClass(c.ByClass).Sum() == c.InWindows]
		said += map[bool]string{true: ", and " + text.Count(c.Outside, "more request", "more requests") + " failed outside of that time"}[c.Outside > 0]
	case c.Failed > 0:
		said = least + text.Count(c.Failed, "request", "requests") + of + " failed between " + clock(c.First) + " and " + clock(c.Last) + " (" + classes(c.ByClass) + ")"
	case c.Sent == 0:
		said = "lightsout sent no requests meanwhile"
	case c.unsent != "":
		said = "lightsout sent no request" + strings.TrimPrefix(of, " of lightsout") + " " + c.unsent + ", and none after that" + failed
	}
	return said
}

// least stands before what may have been more.
func (c Clients) least() string { return map[bool]string{true: "at least "}[c.Known == KnownLeast] }

// requestsIn is what the requests met beside the outages: where lightsout sent them, if that was not told, and, by the
// ledger, which have no end in the record and how many were due and not sent.
func requestsIn(r *record.Record, all []Facts, target string) (said []string) {
	l := summaryOf(r).Ledger
	for i := range r.Runs {
		if r.Summary == nil {
			l.Add(r.Runs[i].Totals.Counts())
		}
	}
	tell := func(n int, what string) {
		if n > 0 {
			said = append(said, text.Count(n, "request", "requests")+" "+what)
		}
	}
	tell((l.Scheduled-l.NotSent())*min(len(target), 1), "of lightsout went"+target)
	tell(all[0].Clients.Prior*map[bool]int{true: 1}[l.Balanced && !r.Unplanned()], "had failed before the outage")
	tell(all[len(all)-1].Clients.Hung, "had hung until the load or a time limit ended")
	tell(l.Scheduled-l.OK-l.Failed-l.Cancelled-l.Unsent, "had neither an answer nor an error "+asOf(r))
	tell(l.NotSent()*map[bool]int{true: 1}[l.ManyUnsent()], "of lightsout were due and not sent: whether the service would have answered is unknown, and "+record.RequestsFile+" has the reasons")
	if len(said) == 0 && l.Balanced && l.Scheduled > 0 {
		said = append(said, "the outcome of every request that lightsout sent is known, and none was lost without a trace; requests of users are not in this record")
	}
	return said
}

// targetOf is where the requests of a record went and in what shape; empty: unknown.
func targetOf(r *record.Record) string {
	if x := lastRun(r); x.URL != "" {
		return " to " + clean(x.URL) + " (" + text.Noun(len(summaryOf(r).Load), "", "last load: ") + x.Spec.Text() + ")"
	}
	return ""
}

// lastRun is the run of requests of a record that its newest sample with a URL shows.
func lastRun(r *record.Record) *loadgen.Run {
	for i := range slices.Backward(r.Samples) {
		if l := r.Samples[i].Load; l != nil && l.Run != nil && l.Run.URL != "" {
			return l.Run
		}
	}
	return &loadgen.Run{}
}

// beforeOf is when the drain began that led to an outage, and how many requests failed since; empty if there was none.
func beforeOf(f *Facts) (said string) {
	drained := slices.DeleteFunc(slices.Clone(f.Nodes), func(n NodeFacts) bool { return !n.drained.Before(n.From) })
	if len(drained) > 0 {
		said = "the drain of " + named(drained) + " had begun at " + clock(f.drained)
		said += map[bool]string{true: ", and " + text.Count(f.Clients.Before, "request", "requests") + " had failed since"}[f.Clients.Before > 0]
	}
	return said
}

// NeverAnswered describes the requests of a recorder to a target that has never answered it.
const NeverAnswered = "no request has ever succeeded"

// lasted is a length of time, in seconds, as one says it after a word for what may have been more: from a second on in whole ones.
func lasted(least string, s float64) string {
	if s >= 1 {
		s = map[bool]float64{true: math.Round(s), false: math.Floor(s)}[least == ""]
	}
	return least + seconds(max(s, 0.1))
}

// workloadsMost is the largest number of workloads in a sentence.
const workloadsMost = 6

// podsOf counts the pods of the workloads that lost some, the worst first.
func podsOf(r *record.Record, f *Facts) string {
	if len(f.Workloads) == 0 || len(f.Nodes) == 0 && !r.Unplanned() || f.Workloads[0].Of == 0 {
		return ""
	}
	w := &f.Workloads[0]
	pods := text.Count(w.Of, "pod", "pods") + w.of()
	if w.unseen() {
		return "lightsout did not see how many of " + pods + " were available at the lowest"
	}
	said := []string{w.count(pods) + " were available at the lowest" + w.length(r, " (pods missing for %s)", ", and %d "+text.Noun(w.AtEnd, "was", "were")+" missing "+strings.ReplaceAll(atEnd(r), "%", "%%"))}
	if w.already() {
		said[0] = fmt.Sprintf("%d of %s were available already before", w.Before, pods)
	}
	lost := slices.DeleteFunc(slices.Clone(f.Workloads[1:]), func(w Workload) bool { return w.lacked() == 0 })
	said = append(said, text.Each(lost[:min(len(lost), workloadsMost-1)], func(w Workload) string {
		return w.count(itoa(w.Of)+w.of()) + w.length(r, " (%s)", ", %d still missing")
	})...)
	lost = slices.DeleteFunc(lost, func(w Workload) bool { return w.already() })
	return strings.Join(moreLost(said, len(lost)-(workloadsMost-1)), "; ")
}

// moreLost adds how many more workloads lost pods.
func moreLost(said []string, n int) []string {
	if n > 0 {
		said = append(said, text.Count(n, "more workload", "more workloads")+" lost pods")
	}
	return said
}

// of names a workload after a number of its pods.
func (w *Workload) of() string {
	if w.Name == "" {
		return ""
	}
	return " of " + clean(w.Key.String())
}

// length is for how long pods lacked, and how many still did when the record ended, each in its form.
func (w *Workload) length(r *record.Record, lasting, still string) (said string) {
	s, known := w.lasted(r)
	said = map[bool]string{true: fmt.Sprintf(lasting, lasted(w.least(), s))}[known && w.lost() > 0]
	said += map[bool]string{true: fmt.Sprintf(still, w.AtEnd)}[w.AtEnd > 0 && !w.already()]
	return said
}

// lastSight is when lightsout saw the cluster last.
func lastSight(r *record.Record) time.Time {
	if all := apiLost(r); len(all) > 0 && all[len(all)-1].to.IsZero() {
		return all[len(all)-1].from
	}
	return r.End
}

// atEnd is when lightsout saw the cluster last: at the record's end, or before if the API
// server did not answer any more.
func atEnd(r *record.Record) string {
	if at := lastSight(r); !at.Equal(r.End) {
		return "when lightsout last saw the cluster, at " + clock(at)
	}
	return asOf(r)
}

// asOf is the end of a record, in words.
func asOf(r *record.Record) string {
	return map[bool]string{true: "at " + clock(r.End) + ", as the record goes on", false: "when the record ended"}[r.Recording]
}

// changedBefore is how long before the first outage a change of the deployment counts as one that it may
// come from.
const changedBefore = time.Minute

// doneIn describes how somebody scaled or deleted the deployment of the record around the outages, the first
// time: an autoscaler may do it often.
func doneIn(r *record.Record, all []Facts) string {
	from := all[0].From
	if r.Unplanned() {
		from = r.Zero.Add(-changedBefore)
	} else if len(all[0].Nodes) == 0 {
		return ""
	}
	targets := targetsOf(r)
	i := slices.IndexFunc(targets, func(t reading) bool { return t.at.After(from) })
	if i < 1 {
		return ""
	}
	done := fmt.Sprintf("scaled from %d to %s", targets[i-1].replicas, text.Count(targets[i].replicas, "pod", "pods"))
	if targets[i].replicas == 0 {
		done = "deleted, or scaled to 0 pods,"
	}
	return "The deployment was " + done + " at " + clock(targets[i].at) + " UTC"
}
