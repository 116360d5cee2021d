package tui

import (
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	spans "lightsout/internal/outage"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// planned is the mdx plan with the step at next waiting or under way.
func planned(next int, waiting bool) *view.TrialView {
	v := &view.TrialView{Name: "mdx", Driven: true, Waiting: waiting, Next: next, Started: t0.Add(-3 * time.Minute)}
	for i, s := range [][2]string{
		{"burst of 16", "16 requests at once: all served"},
		{"shut down 2", "shut down kube-node3, kube-node4"},
		{"wait: detected", "until both are NotReady, at most 2m"},
		{"burst of 12", "12 requests at once: 8 served, 4 queued"},
		{"power on 2", "power on kube-node3, kube-node4"},
		{"wait: restored", "until all are Ready and 16 of 16 available, at most 10m"},
		{"burst of 16 again", "16 requests at once: all served"},
	} {
		step := view.StepView{Name: s[0], Text: s[1], State: view.StepToCome}
		switch {
		case i < next:
			step.State = view.StepDone
		case i == next && !waiting:
			step.State = view.StepUnderWay
		}
		v.Steps = append(v.Steps, step)
	}
	if next < len(v.Steps) {
		v.Doing = v.Steps[next].Text
		if waiting {
			v.Doing = "next: " + v.Doing
		}
	}
	return v
}

func at(f float64) *float64               { return &f }
func between(lo, hi float64) *[2]float64  { return &[2]float64{lo, hi} }
func yes(b bool) *bool                    { return &b }
func gone(t time.Duration) time.Time      { return t0.Add(t) }
func tenth(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
func off(node string, s float64) spans.Span {
	return spans.Span{Node: node, Kind: spans.SpanOff, From: gone(tenth(s))}
}

// driven is a driven trial whose second step waits.
func driven() *view.Frame {
	f := calm()
	f.Trial = planned(1, true)
	f.Load.Totals = loadgen.Totals{Scheduled: 16, OK: 16}
	start := f.Now.Truncate(time.Second).Add(-39 * time.Second)
	for i := range 40 {
		w := loadgen.Second{At: start.Add(time.Duration(i) * time.Second), Sampled: true, Capacity: 16, Target: 16}
		if i == 5 {
			w.Sent, w.OK = 16, 16
		}
		if i >= 5 && i < 24 {
			w.Served = 16 - max(0, i-18)*2
		}
		f.Load.Seconds = append(f.Load.Seconds, w)
	}
	return f
}

// silent is 38 s after the shutdown: the nodes are off, and nothing but their
// heartbeats has told the cluster so.
func silent() *view.Frame {
	f := mdxOutage()
	f.Now = t0.Add(38 * time.Second)
	c := mdxContents(f.Now)
	c.Version = 3
	c.Settings = cluster.Settings{GracePeriod: cluster.Setting[time.Duration]{Value: 50 * time.Second}, MonitorPeriod: cluster.Setting[time.Duration]{Value: 5 * time.Second}}
	for i, n := range c.Nodes[3:] {
		n.RenewSeen = t0.Add(time.Duration(2+3*i) * time.Second)
		n.Renewed = n.RenewSeen
	}
	f.Snapshot = cluster.NewSnapshot(c)
	f.Events = slices.Clone(f.Events[:9])
	f.Next = new(forecast.Next).Lines(f.Snapshot, nil, f.Now)
	history := slices.Repeat([]int{16}, 60)
	f.History = map[cluster.Key][]int{llm: history}
	f.Trial = planned(2, false)
	f.Trial.Phases = []view.Phase{
		{Name: view.PhaseOff, Subject: "kube-node3", Predicted: between(0, 20), Observed: at(3.2), Inside: yes(true)},
		{Name: view.PhaseOff, Subject: "kube-node4", Predicted: between(0, 20), Observed: at(3.9), Inside: yes(true)},
		{Name: view.PhaseDetected, Subject: "kube-node3", Predicted: between(52, 62)},
		{Name: view.PhaseDetected, Subject: "kube-node4", Predicted: between(55, 65)},
		{Name: view.PhaseEndpointsOut, Subject: "default/llm-jp-31-13b-00001-deployment", Predicted: between(52, 67)},
		{Name: view.PhaseEvicted, Subject: "kube-node3", Predicted: between(352, 362), Note: "none fits: 8 Pending"},
	}
	f.Outages = []spans.Span{off("kube-node3", 3.2), off("kube-node4", 3.9)}
	f.Load.Totals = loadgen.Totals{Scheduled: 60, OK: 38, Failed: map[loadgen.Class]int{loadgen.ClassReset: 8}, Sent: 2, Streaming: 12}
	f.Load.Spec, f.Load.Active = loadgen.Spec{Shape: loadgen.Hold, N: 14}, true
	f.Load.Gauge = loadgen.Gauge{At: f.Now, Capacity: 16, Target: 16, Served: 8, Stalled: 2, OnDead: 4, Outstanding: 14, Basis: loadgen.BasisMeasured, Source: "queue-proxy"}
	f.Load.LastError = "connection reset by peer"
	f.Load.Seconds = nil
	for i := range 60 {
		w := loadgen.Second{At: t0.Add(time.Duration(i-22) * time.Second), Sampled: true, Capacity: 16, Target: 16, Served: 14}
		if i%3 == 0 {
			w.Sent, w.OK = 2, 2
		}
		if i >= 25 {
			w.Served, w.Stalled, w.OnDead = 8, 2, 4
		}
		if i >= 20 && i < 25 {
			w.Sent, w.OK, w.Unresolved = 3, 1, 2
		}
		if i == 25 {
			w.Sent, w.OK, w.Failed = 9, 1, map[loadgen.Class]int{loadgen.ClassReset: 8}
		}
		f.Load.Seconds = append(f.Load.Seconds, w)
	}
	return f
}

// failing is the outage with a rate of requests of which many fail, on one of
// the three nodes that are away.
func failing() *view.Frame {
	f := mdxOutage()
	f.Trial = planned(3, true)
	f.Outages = []spans.Span{
		{Node: "kube-node2", Kind: spans.SpanNotReady, From: gone(-50 * time.Second), To: gone(-28 * time.Second)},
		off("kube-node3", 3.2), off("kube-node4", 3.9),
		{Node: "kube-node3", Kind: spans.SpanNotReady, From: f.Now.Add(-22 * time.Second)},
		{Node: "kube-node4", Kind: spans.SpanNotReady, From: f.Now.Add(-20 * time.Second)},
	}
	f.Load.Spec, f.Load.Active = loadgen.Spec{Shape: loadgen.Rate, PerSecond: 6}, true
	f.Load.Totals = loadgen.Totals{Scheduled: 720, OK: 520, Sent: 4, Streaming: 8, Failed: map[loadgen.Class]int{
		loadgen.ClassConnectTimeout: 96, loadgen.ClassReset: 8, loadgen.ClassRefused: 24, loadgen.Class502: 60}}
	f.Load.LastError = "http://10.0.0.13:31080: connection refused"
	f.Load.Seconds = nil
	start := f.Now.Truncate(time.Second).Add(-119 * time.Second)
	for i := range 120 {
		s := start.Add(time.Duration(i) * time.Second)
		since := s.Sub(t0)
		w := loadgen.Second{At: s, Sampled: true, Capacity: 16, Target: 16, Served: 6 + i%2, Sent: 6, OK: 6}
		if since >= 60*time.Second {
			w.Capacity, w.Served, w.Queued = 8, 8, 4
		}
		switch {
		case since >= 3*time.Second && since < 5*time.Second:
			w.OK, w.Failed = 2, map[loadgen.Class]int{loadgen.ClassReset: 4}
		case since >= 5*time.Second && since < 40*time.Second:
			w.OK, w.Failed = 3, map[loadgen.Class]int{loadgen.ClassConnectTimeout: 2, loadgen.Class502: 1}
			w.OnDead = 3
		case since >= 40*time.Second && since < 61*time.Second:
			w.OK, w.Failed = 4, map[loadgen.Class]int{loadgen.ClassRefused: 1, loadgen.Class502: 1}
		case since >= 80*time.Second:
			w.OK, w.Unresolved = 2, 4
		}
		f.Load.Seconds = append(f.Load.Seconds, w)
	}
	return f
}

// judged is the end of the mdx plan.
func judged(v view.Verdict) *view.Frame {
	f := calm()
	f.Now, f.Zero = t0.Add(400*time.Second), t0
	c := mdxContents(f.Now)
	f.Snapshot = cluster.NewSnapshot(c)
	f.Power = mdxPower(f.Now)
	f.Outages = []spans.Span{off("kube-node3", 3.2), off("kube-node4", 3.9),
		{Node: "kube-node3", Kind: spans.SpanNotReady, From: gone(56 * time.Second), To: gone(341 * time.Second)},
		{Node: "kube-node4", Kind: spans.SpanNotReady, From: gone(58 * time.Second), To: gone(343 * time.Second)}}
	f.Outages[0].To, f.Outages[1].To = gone(318*time.Second), gone(319*time.Second)
	t := planned(7, false)
	f.Trial = t
	t.Verdict = v
	t.Report = "/home/operator/.local/state/lightsout/mdx/trials/20260304T102030Z/report.html"
	t.Why = []string{"the outage was observed (both NotReady by T+00:58), the return proven (new boot ids), 8 of 8 expectations met"}
	t.Phases = []view.Phase{
		{Name: view.PhaseOff, Subject: "kube-node3", Predicted: between(0, 20), Observed: at(3.2), Inside: yes(true)},
		{Name: view.PhaseOff, Subject: "kube-node4", Predicted: between(0, 20), Observed: at(3.9), Inside: yes(true)},
		{Name: view.PhaseDetected, Subject: "kube-node3", Predicted: between(52, 62), Observed: at(56.1), Inside: yes(true)},
		{Name: view.PhaseDetected, Subject: "kube-node4", Predicted: between(55, 65), Observed: at(58), Inside: yes(true)},
		{Name: view.PhaseEndpointsOut, Subject: "default/llm-jp-31-13b-00001-deployment", Predicted: between(52, 67), Observed: at(58.3), Inside: yes(true)},
		{Name: view.PhaseErrors, Subject: "burst of 12", From: at(3.1), Observed: at(30.2)},
		{Name: view.PhaseEvicted, Subject: "kube-node3", Predicted: between(352, 362), Note: "it was back before"},
		{Name: view.PhaseBooted, Subject: "kube-node3", Observed: at(336.5)},
		{Name: view.PhaseReady, Subject: "kube-node3", Predicted: between(330, 360), Observed: at(341), Inside: yes(true)},
		{Name: view.PhaseReady, Subject: "kube-node4", Predicted: between(330, 342), Observed: at(343), Inside: yes(false)},
		{Name: view.PhaseRestored, Subject: "default/llm-jp-31-13b-00001-deployment", Observed: at(371.8)},
	}
	t.Expectations = []view.Expectation{
		{Name: "peak_served, burst of 16", Want: "16", Got: "16", OK: true},
		{Name: "peak_served, burst of 12", Want: "8", Got: "8", OK: true},
		{Name: "peak_queued, burst of 12", Want: "4", Got: "4", OK: true},
		{Name: "failed_after_detection, burst of 12", Want: "0", Got: "0", OK: true},
		{Name: "detected", Want: "inside the forecast", Got: "56.1 s, 58.0 s", OK: true},
		{Name: "restored", Want: "at most 600 s", Got: "371.8 s", OK: true},
		{Name: "balanced", Want: "yes", Got: "yes", OK: true},
	}
	if v == view.Fail {
		t.Expectations[2].Got, t.Expectations[2].OK = "3", false
		t.Expectations[4].Got, t.Expectations[4].OK = "kube-node3 at 56.1 s (forecast 52.0–62.0 s); kube-node4 at 66.0 s (forecast 55.0–65.0 s)", false
		t.Expectations[5].Got, t.Expectations[5].OK, t.Expectations[5].Unobserved = "not observed", false, true
		t.Steps[5].State, t.Steps[6].State = view.StepFailed, view.StepSkipped
		t.Why = []string{"wait: restored did not come to its end within 10m: 12 of 16 available", "3 of 7 expectations were not met"}
	}
	f.Load.Totals = loadgen.Totals{Scheduled: 44, OK: 44}
	return f
}

func passed() *view.Frame { return judged(view.Pass) }
func failed() *view.Frame { return judged(view.Fail) }

// replayed is the outage as a record tells it, paused.
func replayed() *view.Frame {
	f := failing()
	f.Recording = false
	f.Replay = &view.ReplayView{Dir: "mdx-20260304-102030", Start: t0.Add(-3 * time.Minute), End: t0.Add(400 * time.Second), Paused: true, Speed: 4,
		Marks: []view.Bookmark{
			{At: t0, Text: "shutdown asked for"}, {At: gone(61 * time.Second), Text: "kube-node3 NotReady"},
			{At: gone(300 * time.Second), Text: "power on asked for"}, {At: gone(341 * time.Second), Text: "kube-node3 Ready"},
		}}
	return f
}

// replayedQuestion is a moment of a record at which something was being asked.
func replayedQuestion() *view.Frame {
	f := asked()
	f.Recording = false
	f.Replay = &view.ReplayView{Dir: "mdx", Start: t0.Add(-3 * time.Minute), End: t0.Add(400 * time.Second), Speed: 0.5,
		Torn: "the record was cut short: no summary, the program ended at T+06:40"}
	return f
}

// free is the silent minute of a trial without a plan.
func free() *view.Frame {
	f := silent()
	v := *f.Trial
	v.Name, v.Keyboard, v.Driven, v.Waiting, v.Steps, v.Next, v.Doing = "by hand", true, false, false, nil, 0, ""
	f.Trial = &v
	return f
}
