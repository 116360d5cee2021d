package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// SignsIn returns the events by which the recorder noticed the outage of a record, in the
// order of notice, without those of earlier outages in its past. Other records have none.
func SignsIn(r *record.Record) (out []view.Event) {
	for i := range r.Events {
		if e := &r.Events[i]; e.Code == view.CodeOutageSign && !past(r, e.At) {
			out = append(out, *e)
		}
	}
	return out
}

// atZero is how long before the zero of a record something may be seen that belongs to its outage.
const atZero = 5 * time.Second

// past reports whether a time is that of an earlier outage, in the past of a record.
func past(r *record.Record, at time.Time) bool { return at.Before(r.Zero.Add(-atZero)) }

// SoFar is a sentence on an outage that is still being recorded: on its signs, on what clients
// notice and on pods, by Lacking, if anything is known of them.
func SoFar(signs []view.Event, clients, pods string) string {
	r := &record.Record{Events: signs}
	var nodes []NodeFacts
	for _, e := range SignsIn(r) {
		if e.Sign.OfNode() {
			nodes = append(nodes, NodeFacts{Down: outage.Down{Node: e.Subject, From: e.At}, Cause: e.Sign.Down()})
		}
	}
	beside := strings.Join(signsBeside(r, false, time.Time{}), "; ")
	if len(nodes) == 0 {
		beside = text.Capital(beside)
	}
	return text.Clean(joined(who(r, nodes), beside, again(signs), clients, pods)+".", 2*textMost)
}

// Lacking counts the available pods of workloads that lack some, the worst first; empty if there are none.
func Lacking(lost []Workload) string {
	slices.SortFunc(lost, worse)
	said := text.Each(lost[:min(len(lost), workloadsMost)], func(w Workload) string { return fmt.Sprintf("%d of %d%s", w.Lowest, w.Of, w.of()) })
	if len(said) == 0 {
		return ""
	}
	return "pods available now: " + strings.Join(moreLost(said, len(lost)-workloadsMost), ", ")
}

// again describes the newest of the signs that came before; empty if none did.
func again(signs []view.Event) string {
	for i, e := range slices.Backward(signs) {
		was := func(x view.Event) bool { return x.Sign == e.Sign && x.Subject == e.Subject }
		if !slices.ContainsFunc(signs[:i], was) {
			continue
		}
		what := e.Sign.Clause(clean(e.Subject))
		if e.Sign.OfNode() {
			what = clean(e.Subject) + " " + e.Sign.Down().One + " at"
		}
		return "again: " + what + " " + clock(e.At) + " UTC"
	}
	return ""
}

// signsBeside describes the signs that are not about nodes, each kind once. told: those of requests,
// pods and the API server are in other sentences. placed is when pods found nodes, if they did.
func signsBeside(r *record.Record, told bool, placed time.Time) (out []string) {
	seen := map[view.Sign]bool{view.SignRequests: told, view.SignPending: told, view.SignAPI: told}
	for _, e := range SignsIn(r) {
		if seen[e.Sign] {
			continue
		}
		seen[e.Sign] = true
		if e.Sign == view.SignAPI {
			out = append(out, apiSilence(interval{e.At, apiAnswers(r, e.At)}))
		} else if clause := e.Sign.Clause(clean(e.Subject)); clause != "" {
			out = append(out, clause+" "+clock(e.At)+" UTC")
			out[len(out)-1] += map[bool]string{true: ", those of workloads until " + clock(placed)}[e.Sign == view.SignPending && placed.After(e.At)]
		}
	}
	return out
}

// unknownIn describes when the API server did not answer while nodes were down, and what is known of that time.
func unknownIn(r *record.Record, all []Facts) string {
	var said []string
	known := ": what the cluster did then is known only from what it reported afterwards"
	for _, s := range slices.CompactFunc(apiLost(r), func(a, b interval) bool { return a.to.Equal(b.to) }) {
		if slices.ContainsFunc(all, func(f Facts) bool { return len(f.Nodes) > 0 && f.meets(s) }) {
			said = append(said, apiSilence(s))
		}
		if s.to.IsZero() {
			known = ": what the cluster did then is unknown"
		}
	}
	return strings.TrimPrefix(text.Capital(strings.Join(said, "; "))+known, known)
}

// apiSilence describes a time in which the API server did not answer.
func apiSilence(s interval) string {
	if s.to.IsZero() {
		return view.SignAPI.Clause("") + " " + clock(s.from) + " UTC"
	}
	return "the API server gave lightsout no answer for " + lasted("", s.to.Sub(s.from).Seconds()) + " from " + clock(s.from) + " UTC"
}

// severity is the word for a recorded outage, in the place of a verdict, with what it means; empty: why it is unknown.
type severity struct {
	word  cell
	means string
}

var severities = map[record.Severity]severity{
	record.SeverityDown:       {cell{"DOWN", bad}, "three or more requests of lightsout failed while none succeeded for at least 3 s, or since"},
	record.SeverityDegraded:   {cell{"DEGRADED", warning}, "some requests of lightsout failed"},
	record.SeverityNoneFailed: {cell{"NO REQUEST FAILED", good}, "lightsout sent requests during the outage, and none of them failed"},
	record.SeverityUnknown:    {cell{"UNKNOWN", warning}, ""},
}

// severityOf is the severity of a recorded outage, an unknown one if the record has another.
func severityOf(u *record.Unplanned) severity {
	return cmp.Or(severities[u.Severity], severities[record.SeverityUnknown])
}

// judged is the verdict of a trial, or the severity of a recorded outage.
func judged(s *record.Summary) cell {
	if s.Unplanned == nil {
		return verdictOf(s.Verdict)
	}
	return severityOf(s.Unplanned).word
}

// zeroOf names the zero of the clock.
func zeroOf(r *record.Record) string {
	if all := SignsIn(r); len(all) > 0 {
		return all[0].Sign.LastGood(clean(all[0].Subject))
	}
	return "the first power-off request"
}

// signsOf lists the signs of a recorded outage, and what the recorder did not see.
func signsOf(r *record.Record) section {
	s := r.Summary
	t := section{ID: "signs", Title: "How the recorder noticed it"}.columns("sign", "#at", "#noticed", "#after")
	for _, x := range s.Unplanned.Signs {
		t.row(x.Kind.LastGood(x.Subject), offset(x.At.Sub(s.Zero).Seconds()), offset(x.Noticed.Sub(s.Zero).Seconds()), seconds(lasts(r, x.At, x.Noticed)))
	}
	t.Items = text.Each(s.Unplanned.Unseen, func(u string) cell { return cell{clean("Not seen: " + u + "."), warning} })
	return t
}

// bootID is the boot ID that a node reports from a time on.
type bootID struct {
	from time.Time
	id   string
}

// bootIDsOf finds by the samples the newest boot ID of each node, if it proves anything.
func bootIDsOf(r *record.Record) map[string]bootID {
	newest := map[string]bootID{}
	for at, n := range nodesShown(r) {
		if old, known := newest[n.Name]; !known || old.id != n.BootID {
			newest[n.Name] = bootID{at, n.BootID}
		}
	}
	prove := outage.Proving(text.Each(slices.Collect(maps.Values(newest)), func(b bootID) string { return b.id }))
	maps.DeleteFunc(newest, func(_ string, b bootID) bool { return !prove[b.id] })
	return newest
}
