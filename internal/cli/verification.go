package cli

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/trial"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// verification compares the claims of a summary with the sum of its requests.
type verification struct {
	*recount
	claims
	folder      fs.FS
	differences []string
	unchecked   []string
}

// outages are those that the error windows depend on; a load alone has none.
func (c claims) outages() *loadgen.PowerOffs {
	if c.trial == nil {
		return &loadgen.PowerOffs{}
	}
	return &c.trial.Outages
}

// since returns when requests begin to count: at the zero of an unplanned outage.
func (c claims) since() time.Time {
	if c.trial == nil || c.trial.Unplanned == nil {
		return time.Time{}
	}
	return c.trial.Zero
}

// began returns when the record of a trial begins: all requests that were scheduled later and
// have ended are in it.
func (c claims) began() time.Time {
	switch {
	case c.trial == nil:
		return time.Time{}
	case c.trial.Unplanned != nil && c.trial.Unplanned.RequestsFrom != nil:
		return *c.trial.Unplanned.RequestsFrom
	case c.trial.Unplanned != nil:
		return c.trial.Zero
	}
	return c.trial.Started
}

func (v *verification) differ(format string, args ...any) {
	v.differences = append(v.differences, fmt.Sprintf(format, args...))
}

// clockSet is how far the wall clock was set while the record was kept.
func (v *verification) clockSet() time.Duration {
	set := v.setBack // records of early versions show only that
	if v.claims.trial != nil {
		set = max(set, time.Duration(v.claims.trial.ClockSet*float64(time.Second)))
	}
	return set
}

// smallStep bounds the steps of the wall clock that shift times and do not change their order.
const smallStep = time.Second

// differInTime notes a difference of what depends on the requests' times. Nobody can check that if
// the wall clock was set meanwhile: the summary was made by a clock that was not. explained: a small
// step explains this difference.
func (v *verification) differInTime(explained bool, format string, args ...any) {
	set := v.clockSet()
	if set == 0 || set < smallStep && !explained {
		v.differ(format, args...)
		return
	}
	v.unchecked = append(v.unchecked, fmt.Sprintf(format, args...)+fmt.Sprintf(": the wall clock was set by %.2f s while the record was kept", set.Seconds()))
}

// counts compares a claim with records. byClass: the claim has FailedByClass.
func (v *verification) counts(what string, c loadgen.Counts, t *loadgen.Totals, byClass bool) {
	differ := v.differ
	if !v.since().IsZero() { // which requests count depends on their times
		differ = func(format string, args ...any) { v.differInTime(true, format, args...) }
	}
	for _, x := range []struct {
		name       string
		claim, got int
	}{
		{"scheduled", c.Scheduled, t.Scheduled + c.InFlight}, {"ok", c.OK, t.OK}, {"failed", c.Failed, t.FailedSum()},
		{"cancelled", c.Cancelled, t.Cancelled}, {"unsent", c.Unsent, t.Unsent},
	} {
		if x.claim != x.got {
			differ("%s: %s is %d, but the requests give %d", what, x.name, x.claim, x.got)
			return
		}
	}
	if byClass && !sameCounts(c.FailedByClass, t.Failed) {
		differ("%s: failed_by_class is %v, but the requests give %v", what, c.FailedByClass, t.Failed)
	}
}

func sameCounts(a, b map[loadgen.Class]int) bool {
	return len(a)+len(b) == 0 || maps.Equal(a, b)
}

// gaps checks that every number from the first one has a line, except for requests in
// flight. others: loads that the summary does not count may have more in flight.
func (v *verification) gaps(from uint64, inFlight int, others bool) {
	n, first := v.seen.missing(from)
	switch text := fmt.Sprintf("%d requests have no line, the first of them is %q", n, first); {
	case n <= uint64(inFlight):
	case others:
		v.unchecked = append(v.unchecked, text+": they may belong to loads that the trial did not start")
	default:
		v.differ("%s", text)
	}
}

// load checks the summary of `lightsout load`, which ends when no request is in
// flight.
func (v *verification) load() {
	s := v.claims.load
	v.counts("the summary", s.Counts, &v.all, true)
	if s.InFlight > 0 {
		v.differ("the summary: the load has ended, and yet %d requests are in flight: they have no evidence", s.InFlight)
	}
	if s.Balanced != s.Adds() {
		v.differ("the summary: balanced is %v, and %s", s.Balanced, s.Equation())
	}
	if want := float64(v.all.OK) / s.Duration; s.Duration > 0 && math.Abs(s.OKPerSecond-want) > want/1e6 {
		v.differ("the summary: ok_per_second is %g, but %d requests in %g s give %g", s.OKPerSecond, v.all.OK, s.Duration, want)
	}
	v.gaps(1, 0, false)
	v.unchecked = append(v.unchecked, "requests after the last line, the duration, latency, tokens, the seconds")
}

// trial checks the summary of a trial.
func (v *verification) trial() {
	s := v.claims.trial
	var sum loadgen.Totals
	var counts loadgen.Counts
	first, known := uint64(math.MaxUint64), map[int]bool{}
	for i, l := range s.Load {
		known[l.Run] = true
		run := v.runs[l.Run]
		if run == nil {
			run = &recountedRun{window: loadgen.NewWindow(&s.Outages), first: math.MaxUint64}
		}
		first = min(first, run.first)
		counts.Add(l.Counts)
		addTotals(&sum, run.Totals)
		s.Load[i].Failures = v.step(s, l, run)
	}
	v.counts("the ledger", s.Ledger.Counts, &sum, false)
	if s.Ledger.InFlight != counts.InFlight {
		v.differ("the ledger: in_flight is %d, but the load steps give %d", s.Ledger.InFlight, counts.InFlight)
	}
	others := false
	for _, run := range slices.Sorted(maps.Keys(v.runs)) {
		if !known[run] {
			others = s.OthersInFlight == nil
			v.unchecked = append(v.unchecked, fmt.Sprintf("%d requests of run %d, which the trial did not start", v.runs[run].Scheduled, run))
		}
	}
	open := counts.InFlight
	if s.OthersInFlight != nil {
		open += *s.OthersInFlight
	}
	v.gaps(first, open, others)
	if s.Unplanned != nil && s.Unplanned.RequestsFrom != nil {
		v.unchecked = append(v.unchecked, "requests that ended before "+s.Unplanned.RequestsFrom.UTC().Format("15:04:05")+" UTC: the recorder had forgotten them")
	}
	v.judgement(s)
	v.unchecked = append(v.unchecked,
		"requests after the last line; started, ended, zero, outages, phases, nodes, left_off, lowest_available and blind (see events.jsonl); the peaks of the gauge (see samples.jsonl)",
		"name, pace, cluster, server, deployment, settings, skew, pending, others_in_flight, and when loads started and ended",
		"whether the outage and the return were observed")
}

func addTotals(sum *loadgen.Totals, t loadgen.Totals) {
	sum.Scheduled += t.Scheduled
	sum.OK += t.OK
	sum.Cancelled += t.Cancelled
	sum.Unsent += t.Unsent
	for c, n := range t.Failed {
		if sum.Failed == nil {
			sum.Failed = map[loadgen.Class]int{}
		}
		sum.Failed[c] += n
	}
}

// step checks one load step. It returns its failures, with those of the requests where the
// summary claims nothing.
func (v *verification) step(s *record.Summary, l record.Load, run *recountedRun) record.Failures {
	what := fmt.Sprintf("load step %q", l.Step)
	v.counts(what, l.Counts, &run.Totals, true)
	if l.Sent != l.Scheduled-l.Unsent {
		v.differ("%s: sent is %d, but scheduled less unsent is %d", what, l.Sent, l.Scheduled-l.Unsent)
	}
	if l.InFlight > 0 && s.Unplanned == nil && (l.Ended != nil || s.Verdict != view.Aborted && s.Verdict != view.NotJudged) {
		v.differ("%s: it has ended, and yet %d requests are in flight: they have no evidence", what, l.InFlight)
	}
	got := record.FailuresOf(run.window, s.Zero)
	if !sameFailures(got, l.Failures) {
		v.differInTime(sameWindows(got.ErrorWindows, l.ErrorWindows, rounding+v.clockSet()), "%s: the error windows, later_failures, later_wave, at_zero, hung, steady, unasked, unrecovered or unanswered do not match the requests", what)
	}
	if l.FailedAfterDetection != nil {
		v.afterDetection(what, s, *l.FailedAfterDetection, run)
	}
	for _, x := range []struct {
		name       string
		claim, got **bool
	}{{"later_wave", &l.LaterWave, &got.LaterWave}, {"unasked", &l.Unasked, &got.Unasked}, {"unrecovered", &l.Unrecovered, &got.Unrecovered}, {"unanswered", &l.Unanswered, &got.Unanswered}} {
		if *x.claim == nil { // as in records of early versions: the expectations count with the requests
			*x.claim = *x.got
			if **x.got {
				v.unchecked = append(v.unchecked, fmt.Sprintf("%s: %s, which the summary lacks; by the requests it is true", what, x.name))
			}
		}
	}
	if l.Steady == nil && slices.ContainsFunc(s.Outages, func(o loadgen.PowerOff) bool { return !o.Returned.IsZero() }) {
		l.Steady = got.Steady
	}
	return l.Failures
}

// rounding is the largest permitted difference between an offset in a summary and the
// real time.
const rounding = 2 * time.Millisecond

// afterDetection checks the number of failed requests that were sent while no outage was
// undetected. Early versions counted those after the last detection.
func (v *verification) afterDetection(what string, s *record.Summary, claim int, run *recountedRun) {
	last := math.Inf(-1)
	for _, p := range s.Phases {
		if p.Name == view.PhaseDetected && p.Observed != nil {
			last = max(last, *p.Observed)
		}
	}
	if math.IsInf(last, -1) {
		v.differ("%s: failed_after_detection is %d, but no detection was observed", what, claim)
		return
	}
	at := s.Zero.Add(time.Duration(last * float64(time.Second)))
	least, most, earlier, about := 0, 0, 0, 0
	undetected := s.Undetected()
	for _, f := range run.failed {
		if undetected.Over(f, rounding) {
			least++
		}
		if undetected.Over(f, -rounding) {
			most++
		}
		if undetected.Over(f, -rounding-v.clockSet()) {
			about++
		}
		if f.After(at) {
			earlier++
		}
	}
	if (claim < least || claim > most) && claim != earlier {
		v.differInTime(claim <= about, "%s: failed_after_detection is %d, but the requests give %d", what, claim, most)
	}
	if !run.lastSent.After(at.Add(-rounding)) { // an early version counted 0 then
		v.unchecked = append(v.unchecked, what+": failed_after_detection: no request that was sent after the detection succeeded or failed")
	}
}

// sameFailures compares the Failures of the requests with those of a record, up to rounding.
func sameFailures(a, b record.Failures) bool {
	later := a.LaterFailures == nil && b.LaterFailures == nil ||
		a.LaterFailures != nil && b.LaterFailures != nil && sameSpan(*a.LaterFailures, *b.LaterFailures)
	known := func(got, claim *bool) bool { return claim == nil || *got == *claim }
	whileOff := b.HungWhileOff == nil || *a.HungWhileOff == *b.HungWhileOff // records of early versions lack it
	return later && whileOff && known(a.Steady, b.Steady) && known(a.LaterWave, b.LaterWave) && known(a.Unasked, b.Unasked) && known(a.Unrecovered, b.Unrecovered) && known(a.Unanswered, b.Unanswered) && slices.EqualFunc(a.ErrorWindows, b.ErrorWindows, sameSpan) &&
		reflect.DeepEqual(a.AtZero, b.AtZero) && reflect.DeepEqual(a.Hung, b.Hung)
}

func sameSpan(a, b record.Span) bool { return a.Failed == b.Failed && sameTimes(a, b, rounding) }

// sameTimes reports whether two spans begin and end within a tolerance of each other.
func sameTimes(a, b record.Span, within time.Duration) bool {
	return math.Abs(a.From-b.From) < within.Seconds() && math.Abs(a.To-b.To) < within.Seconds()
}

// sameWindows reports whether two lists of error windows have the same times within a tolerance.
func sameWindows(a, b []record.Span, within time.Duration) bool {
	return slices.EqualFunc(a, b, func(a, b record.Span) bool { return sameTimes(a, b, within) })
}

// judgement recomputes the expectations and the verdict from the summary's own figures.
func (v *verification) judgement(s *record.Summary) {
	data, err := record.ReadSmall(v.folder, record.PlanFile)
	var p *plan.Plan
	if err == nil && data != nil {
		p, err = plan.ParseRecorded(data)
	}
	switch {
	case err != nil:
		v.differ("the plan can't be read, so the expectations can't be repeated: %v", err)
		return
	case p == nil:
		v.unchecked = append(v.unchecked, "the expectations: there is no "+record.PlanFile)
	case len(p.Expect) != len(s.Expectations):
		v.differ("the plan has %d expectations, and the summary %d", len(p.Expect), len(s.Expectations))
		return
	default:
		for i, x := range p.Expect {
			said, got := s.Expectations[i], trial.JudgeExpectation(x, s)
			switch {
			case got == said:
			default:
				differ := v.differ
				if x.Measure == "error_window" || x.Measure == "hung" { // they depend on when the outage was over, by the wall clock
					differ = func(format string, args ...any) { v.differInTime(true, format, args...) }
				}
				differ("expectation %q (met: %v, wanted %q, got %q) is not what the figures of the summary give: %q (met: %v, wanted %q, got %q)",
					said.Name, said.OK, said.Want, said.Got, got.Name, got.OK, got.Want, got.Got)
			}
		}
	}
	if p != nil {
		v.loadSteps(p, s)
	}
	if s.Unplanned == nil { // otherwise nobody judged anything
		v.verdict(s)
	}
	short := trial.Shortcomings(p, s)
	good := s.Verdict == view.Pass || s.Verdict == view.NoExpectations
	if good && len(short) > 0 || s.Verdict == view.Fail && len(short) == 0 {
		v.differ("the verdict is %q, but steps, expectations and requests give %q", s.Verdict, short)
	}
	if (good || s.Verdict == view.Fail) && !slices.Equal(s.Why, short) {
		v.differ("the reasons of the verdict (why) are %q, but steps, expectations and requests give %q", s.Why, short)
	}
}

// loadSteps checks that the summary counts the requests of every load step that began.
func (v *verification) loadSteps(p *plan.Plan, s *record.Summary) {
	for _, planned := range p.Steps {
		if _, load := planned.Action.(*plan.Load); !load {
			continue
		}
		began := slices.ContainsFunc(s.Steps, func(st record.Step) bool {
			return st.Name == planned.Name && !st.Started.IsZero() && st.State != view.StepFailed
		})
		counted := slices.ContainsFunc(s.Load, func(l record.Load) bool { return l.Step == planned.Name })
		if began && !counted {
			v.differ("load step %q began, and the summary does not count its requests", planned.Name)
		}
	}
}
