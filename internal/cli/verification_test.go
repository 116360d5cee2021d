package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/trial"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// Early versions counted 0 failures after the detection for a load that had sent nothing after
// it: load verify names that count as unchecked.
func TestLoadVerifyNamesACountAfterTheDetectionWithoutRequests(t *testing.T) {
	t.Parallel()
	detected, zero := 45.0, time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	sum := &record.Summary{Zero: zero, Phases: []view.Phase{{Name: view.PhaseDetected, Subject: "k8s2", Observed: &detected}}}
	for sent, unchecked := range map[float64]int{10: 1, 50: 0} {
		v := &verification{recount: &recount{}}
		v.afterDetection("load step \"a\"", sum, 0, &recountedRun{lastSent: zero.Add(time.Duration(sent * float64(time.Second)))})
		if len(v.differences) > 0 || len(v.unchecked) != unchecked {
			t.Errorf("sent at %v s: differences %q, not checked %q", sent, v.differences, v.unchecked)
		}
	}
}

// A summary may lack unasked and unrecovered, as those of early versions do. The requests give
// them then, so that no expectation is met by what the summary lacks.
func TestLoadVerifyTakesFromTheRequestsWhatTheSummaryLacks(t *testing.T) {
	t.Parallel()
	zero := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	at := func(s int) string { return zero.Add(time.Duration(s) * time.Second).Format(time.RFC3339) }
	line := func(id, class string, s int, more string) string {
		return fmt.Sprintf(`{"id":"a-%s","run":1,"class":%q,"scheduled":%q,"sent":%q,"end":%q%s}`+"\n", id, class, at(s), at(s), at(s+1), more)
	}
	ok := func(id string, s int) string { return line(id, "ok", s, `,"status":200,"first_byte":"`+at(s)+`"`) }
	failed := line("2", "reset", 1, "")
	for name, tc := range map[string]struct {
		requests, lacks string
		sum             record.Load
	}{
		"unrecovered": {ok("1", -5) + failed, `load step "a": unrecovered, which the summary lacks`,
			record.Load{Sent: 2, Counts: loadgen.Counts{Scheduled: 2, OK: 1, Failed: 1, FailedByClass: map[loadgen.Class]int{loadgen.ClassReset: 1}},
				Failures: record.Failures{ErrorWindows: []record.Span{{From: 1, To: 2, Failed: 1}}}}},
		"unasked": {ok("1", -5), `load step "a": unasked, which the summary lacks`,
			record.Load{Sent: 1, Counts: loadgen.Counts{Scheduled: 1, OK: 1}}},
		"neither": {ok("1", -5) + failed + ok("3", 5), "",
			record.Load{Sent: 3, Counts: loadgen.Counts{Scheduled: 3, OK: 2, Failed: 1, FailedByClass: map[loadgen.Class]int{loadgen.ClassReset: 1}},
				Failures: record.Failures{ErrorWindows: []record.Span{{From: 1, To: 2, Failed: 1}}}}},
	} {
		tc.sum.Step, tc.sum.Run = "a", 1
		sum := &record.Summary{Zero: zero, Verdict: view.Pass, Outages: loadgen.PowerOffs{{Off: zero}}, Load: []record.Load{tc.sum}}
		sum.Ledger.Counts, sum.Ledger.Balanced = tc.sum.Counts, true
		const text = "name: x\nsteps:\n  - load: {burst: 1}\n    name: a\n  - off: [k8s2]\nexpect:\n  - error_window: {max: 20s}\n    step: a\n"
		p, err := plan.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		sum.Expectations = []view.Expectation{trial.JudgeExpectation(p.Expect[0], sum)}
		if !sum.Expectations[0].OK {
			t.Fatalf("%s: %+v", name, sum.Expectations)
		}
		folder := fstest.MapFS{record.RequestsFile: {Data: []byte(tc.requests)}, record.PlanFile: {Data: []byte(text)}}
		c, err := recountRequests(folder, &sum.Outages, time.Time{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		v := &verification{recount: c, claims: claims{trial: sum}, folder: folder}
		v.trial()
		found := func(list []string, text string) bool {
			return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, text) })
		}
		if found(v.unchecked, "which the summary lacks") != (tc.lacks != "") || !found(v.unchecked, tc.lacks) {
			t.Errorf("%s: not checked %q", name, v.unchecked)
		}
		if found(v.differences, `expectation "error window, a"`) != (tc.lacks != "") || len(v.differences) != map[bool]int{true: 1}[tc.lacks != ""] {
			t.Errorf("%s: differences %q", name, v.differences)
		}
	}
}

// A record in progress lacks its summary because lightsout is running, not because somebody
// killed it.
func TestLoadVerifyWaitsForTheEndOfARecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tl, err := record.NewTimeline("", time.Now)
	if err == nil {
		err = tl.Tee(filepath.Join(dir, record.EventsFile))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"still writing the record", "no requests to verify"} {
		if err := verifyLoad(dir, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
		_ = tl.Untee()
	}
}

// A load may go on when a record begins or ends: requests that end before or after it have no
// line. Numbers that nothing accounts for still differ.
func TestLoadVerifyAcceptsARecordOfALoadThatGoesOn(t *testing.T) {
	t.Parallel()
	zero := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	at := func(s int) string { return zero.Add(time.Duration(s) * time.Second).Format(time.RFC3339) }
	ok := func(id, run, from, to int) string {
		return fmt.Sprintf(`{"id":"a-%d","run":%d,"class":"ok","status":200,"scheduled":%q,"sent":%q,"first_byte":%q,"end":%q}`+"\n",
			id, run, at(from), at(from), at(to), at(to))
	}
	one := 1
	counts := func(ok, open int) loadgen.Counts {
		return loadgen.Counts{Scheduled: ok + open, OK: ok, InFlight: open}
	}
	// Requests 2 to 4 ended before the record began, 6 is in flight at its end.
	own := ok(1, 1, -60, 5) + ok(5, 1, -5, 3) + ok(7, 1, 4, 6) + ok(8, 1, 5, 7)
	// Request 6 is of another load; so is 8, which is in flight.
	beside := ok(5, 2, -5, 3) + ok(6, 1, -4, 3) + ok(7, 2, 4, 6) + ok(9, 2, 5, 7)
	// Requests 3 to 6 ended 1 s after zero, and the recorder had forgotten them.
	from, forgotten := zero.Add(2*time.Second), ok(1, 1, -60, 5)+ok(2, 1, 1, 5)+ok(7, 1, 3, 4)
	for name, tc := range map[string]struct {
		verdict               view.Verdict
		run                   int
		requests              string
		counts                loadgen.Counts
		others                *int
		difference, unchecked string
		unplanned             *record.Unplanned
	}{
		"goes on":                            {verdict: view.NotJudged, run: 1, requests: own, counts: counts(4, 1)},
		"goes on, a line is missing":         {verdict: view.NotJudged, run: 1, requests: own + ok(10, 1, 8, 9), counts: counts(5, 1), difference: `2 requests have no line, the first of them is "a-6"`},
		"in flight after a trial":            {verdict: view.NoExpectations, run: 1, requests: own, counts: counts(4, 1), difference: "1 requests are in flight"},
		"nobody planned":                     {run: 1, requests: own, counts: counts(4, 1), unplanned: &record.Unplanned{}},
		"nobody planned, a line is missing":  {run: 1, requests: own + ok(10, 1, 8, 9), counts: counts(5, 0), unplanned: &record.Unplanned{}, difference: `1 requests have no line, the first of them is "a-9"`},
		"nobody planned, some are forgotten": {run: 1, requests: forgotten, counts: counts(3, 0), unplanned: &record.Unplanned{RequestsFrom: &from}, unchecked: "requests that ended before 08:00:02 UTC"},
		"another load":                       {verdict: view.NoExpectations, run: 2, requests: beside, counts: counts(3, 0), others: &one},
		"another load, a line is missing":    {verdict: view.NoExpectations, run: 2, requests: beside + ok(11, 2, 8, 9), counts: counts(4, 0), others: &one, difference: `2 requests have no line`},
		"another load, early version":        {verdict: view.NoExpectations, run: 2, requests: beside, counts: counts(3, 0), unchecked: `1 requests have no line, the first of them is "a-8"`},
	} {
		no := false
		sum := &record.Summary{Started: zero.Add(-10 * time.Second), Zero: zero, Verdict: tc.verdict, Unplanned: tc.unplanned, Outages: loadgen.PowerOffs{{Off: zero}}, OthersInFlight: tc.others,
			Load: []record.Load{{Step: "a", Run: tc.run, Sent: tc.counts.Scheduled, Counts: tc.counts}}}
		sum.Load[0].Unasked, sum.Load[0].Unrecovered = &no, &no
		sum.Ledger.Counts, sum.Ledger.Balanced = tc.counts, true
		folder := fstest.MapFS{record.RequestsFile: {Data: []byte(tc.requests)}}
		c := claims{trial: sum}
		counted, err := recountRequests(folder, &sum.Outages, c.since(), c.began())
		if err != nil {
			t.Fatal(err)
		}
		sum.Load[0].Failures = record.FailuresOf(counted.runs[tc.run].window, zero)
		v := &verification{recount: counted, claims: c, folder: folder}
		v.trial()
		if all := strings.Join(v.differences, "; "); tc.difference == "" && all != "" || !strings.Contains(all, tc.difference) || len(v.differences) > 1 {
			t.Errorf("%s: differences %q", name, v.differences)
		}
		if all := strings.Join(v.unchecked, "; "); !strings.Contains(all, tc.unchecked) || tc.unchecked == "" && strings.Contains(all, "no line") {
			t.Errorf("%s: not checked %q", name, v.unchecked)
		}
	}
}

// After the wall clock was set, requests have other times than those of the summary, which was
// made by a clock that nobody sets: nobody can check the summary's times.
func TestVerifyChecksNoTimesOfAClockThatWasSet(t *testing.T) {
	t.Parallel()
	zero := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	for _, tc := range []struct {
		back time.Duration
		set  float64 // by the summary, which records of early versions lack
		want string
		bad  bool // a small step does not explain the difference
	}{
		{0, 0, "", false}, {30 * time.Second, 0, "the wall clock was set by 29.00 s", false}, {-30 * time.Second, 30, "the wall clock was set by 30.00 s", false},
		{-50 * time.Millisecond, 0.05, "the wall clock was set by 0.05 s", false}, {-900 * time.Millisecond, 0.05, "", true},
	} {
		back, want := tc.back, tc.want
		var lines bytes.Buffer
		for i := range 4 {
			due := zero.Add(time.Duration(i+1) * time.Second)
			if i >= 2 {
				due = due.Add(-back)
			}
			if err := json.NewEncoder(&lines).Encode(loadgen.Record{ID: fmt.Sprintf("p-%d", i+1), Run: 1, Shape: loadgen.Rate, Class: loadgen.ClassReset, Count: 1, Scheduled: due, Sent: due, End: due.Add(time.Millisecond)}); err != nil {
				t.Fatal(err)
			}
		}
		l := record.Load{Step: "a", Run: 1, Sent: 4, Counts: loadgen.Counts{Scheduled: 4, Failed: 4, FailedByClass: map[loadgen.Class]int{loadgen.ClassReset: 4}},
			Failures: record.Failures{ErrorWindows: []record.Span{{From: 1, To: 4.001, Failed: 4}}}}
		sum := &record.Summary{Zero: zero, ClockSet: tc.set, Verdict: view.NotJudged, Outages: loadgen.PowerOffs{{Off: zero}}, Load: []record.Load{l}}
		sum.Ledger.Counts, sum.Ledger.Balanced = l.Counts, true
		folder := fstest.MapFS{record.RequestsFile: {Data: lines.Bytes()}, record.PlanFile: {Data: []byte("name: x\nsteps:\n  - load: {burst: 1}\n    name: a\n  - off: [k8s2]\n")}}
		c, err := recountRequests(folder, &sum.Outages, time.Time{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		v := &verification{recount: c, claims: claims{trial: sum}, folder: folder}
		v.trial()
		said := strings.Join(v.unchecked, "; ")
		if (len(v.differences) > 0) != tc.bad || strings.Contains(said, "wall clock was set") != (want != "") || !strings.Contains(said, want) {
			t.Errorf("%s back: differences %q, unchecked %q", back, v.differences, said)
		}
	}
}
