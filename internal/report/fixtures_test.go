package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

var zero = time.Date(2026, 11, 21, 8, 0, 0, 250e6, time.UTC)

func at(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }

func p(f float64) *float64 { return &f }

func iv(a, b float64) *[2]float64 { return &[2]float64{a, b} }

func yes(b bool) *bool { return &b }

// recording makes a record's events.
type recording struct{ events []view.Event }

func (r *recording) add(s float64, lane view.Lane, subject, from, to, text string, level view.Level) {
	o := s
	e := view.Event{Seq: len(r.events) + 1, At: at(s), Seen: at(s).Add(3 * time.Millisecond), Offset: &o,
		Lane: lane, Subject: subject, Text: text, From: from, To: to, Level: level}
	switch {
	case from == "" || to == "":
	case lane == view.LaneEndpoints:
		e.Change, e.Why = cluster.ChangeEndpoints, "ready"
	case lane == view.LaneDeployment && strings.Contains(from, "/"):
		e.Change, e.Why = cluster.ChangeReplicas, "available"
	case lane == view.LaneNode && strings.HasPrefix(to, cluster.WordNotReady):
		e.Code, e.Change, e.Was, e.Is = view.CodeNodeStatus, cluster.ChangeStatus, cluster.HealthGood, cluster.HealthBad
	case lane == view.LaneNode:
		e.Code, e.Change, e.Was, e.Is = view.CodeNodeStatus, cluster.ChangeStatus, cluster.HealthBad, cluster.HealthGood
	case lane == view.LanePod:
		e.Code, e.Change, e.Is = view.CodePodStatus, cluster.ChangeStatus, cluster.HealthChanging
	}
	r.events = append(r.events, e)
}

// asks adds the request to take a node's machine down.
func (r *recording) asks(s float64, node string, action power.Action) {
	o := s
	e := view.NewEvent(view.CodePowerOperation, node, view.Facts{Action: action, Stage: power.StageSending, Reported: "asking to " + power.Verb(action) + " " + node})
	e.Seq, e.At, e.Seen, e.Offset = len(r.events)+1, at(s), at(s), &o
	r.events = append(r.events, e)
}

// change adds a transition.
func (r *recording) change(s float64, lane view.Lane, subject, from, to, suffix string, level view.Level) {
	r.add(s, lane, subject, from, to, from+" → "+to+suffix, level)
}

// mdxRecord is the experiment of 16 pods on 4 nodes, of which two are shut
// down, at fast pace.
func mdxRecord() *record.Record {
	const dep = "default/llm-jp-31-13b-00001-deployment"
	nodes := []string{"kube-node3", "kube-node4"}
	e := &recording{}
	e.add(-14, "operator", "trial", "", "", "trial mdx begins", view.Info)
	e.add(-12, "load", "load", "", "", "burst of 16 started", view.Info)
	e.add(-2.1, "load", "load", "", "", "at rest: 16 sent = 16 ok", view.Good)
	e.add(0, "operator", "trial", "", "", "zero of the clock: the first power-off is asked for", view.Info)
	for _, n := range nodes {
		e.asks(0, n, power.ActionShutdown)
	}
	for _, n := range nodes {
		e.change(1.5, "power", n, "on", "off", " (PowerOFF)", view.Bad)
		e.add(2.8, "heartbeat", n, "on time", "overdue", "heartbeat overdue", view.Bad)
	}
	for _, n := range nodes {
		e.change(4.6, "node", n, "Ready", "NotReady (silent)", "", view.Bad)
		e.add(4.7, "taint", n, "", "node.kubernetes.io/unreachable:NoExecute", "taint node.kubernetes.io/unreachable:NoExecute", view.Warning)
	}
	for i := 16; i > 8; i-- {
		e.change(4.7+float64(16-i)*0.03, "endpoints", "llm-jp-31-13b-00001-private", fmt.Sprint(i), fmt.Sprint(i-1), " ready", view.Info)
		e.change(4.71+float64(16-i)*0.03, "deployment", "llm-jp-31-13b-00001-deployment", fmt.Sprintf("%d/16", i), fmt.Sprintf("%d/16", i-1), " available", view.Info)
	}
	e.change(4.75, "deployment", "llm-jp-31-13b-00001-deployment", "Running", "Partly", "", view.Warning)
	e.add(10.3, "load", "load", "", "", "burst of 12 started", view.Info)
	for i := range 8 {
		e.change(24.7+float64(i/4), "pod", fmt.Sprintf("llm-jp-31-13b-00001-deployment-6c9ffb484b-%05d", i), "Running", "Terminating", "", view.Warning)
	}
	e.add(29.8, "load", "load", "", "", "at rest: 12 sent = 12 ok", view.Good)
	for _, n := range nodes {
		e.add(31, "power", n, "", "", "asking mdx to power on "+n, view.Info)
		e.change(33.2, "power", n, "off", "on", " (PowerON)", view.Good)
		e.add(35.2, "node", n, "", "new boot id", "new boot id", view.Good)
		e.change(36.1, "node", n, "NotReady", "Ready", "", view.Good)
	}
	e.change(38.6, "deployment", "llm-jp-31-13b-00001-deployment", "8/16", "16/16", " available", view.Info)
	e.change(38.6, "deployment", "llm-jp-31-13b-00001-deployment", "Partly", "Running", "", view.Good)
	e.add(39.1, "load", "load", "", "", "burst of 16 started", view.Info)
	e.add(48.9, "load", "load", "", "", "at rest: 16 sent = 16 ok", view.Good)

	r := &record.Record{Dir: "/var/lib/lightsout/mdx-1", Events: e.events, Start: at(-14), End: at(51), Zero: zero}
	for s := -14; s < 51; s++ {
		x := record.Second{Second: loadgen.Second{At: at(float64(s) - 0.25), Sampled: true, Capacity: 16, Target: 16}, Available: 16}
		if s >= 5 && s < 38 {
			x.Capacity, x.Available = 8, 8
		}
		switch {
		case s >= -12 && s < -2:
			x.Served = 16
		case s >= 10 && s < 20:
			x.Served, x.Queued = 8, 4
		case s >= 20 && s < 30:
			x.Served = 4
		case s >= 39 && s < 49:
			x.Served = 16
		default:
			x.Sampled = s%20 != 1 // a few seconds without a reading
		}
		switch s {
		case -12, 39:
			x.Sent, x.OK = 16, 16
		case 10:
			x.Sent, x.OK = 12, 12
		}
		r.Seconds = append(r.Seconds, x)
	}
	for _, n := range nodes {
		r.Lanes = append(r.Lanes, record.Lane{Node: n, Spans: []outage.Span{
			{Kind: outage.SpanOff, From: at(1.5), To: at(33.2), After: at(1.5)},
			{Kind: outage.SpanSilent, From: at(2.8), To: at(35.1), After: at(2.8)},
			{Kind: outage.SpanNotReady, From: at(4.6), To: at(36.1), After: at(4.6)},
		}})
	}
	s := &record.Summary{
		Version: record.SummaryVersion, Name: "mdx", About: "Two of four nodes are shut down while an LLM service of 16 slots is used.", Verdict: view.Pass,
		Why:  []string{"2 of 2 nodes were seen silent and not Ready", "2 of 2 returned with a new boot id", "9 of 9 expectations were met"},
		Pace: "fast", Cluster: "lab-mdx", Server: "v1.36.3", Deployment: dep, Started: at(-14), Zero: zero, Ended: at(51),
		Settings: []record.Setting{
			{Name: "node-monitor-grace-period", Value: "5s", Source: "kube-controller-manager"},
			{Name: "node-monitor-period", Value: "500ms", Source: "kube-controller-manager"},
			{Name: "nodeLeaseDurationSeconds", Value: "4s", Source: "kubelet configz"},
			{Name: "node-eviction-rate", Value: "0.1", Source: "assumed"},
			{Name: "tolerationSeconds of node.kubernetes.io/unreachable", Value: "20s", Source: "pod"},
		},
		Ledger: record.Ledger{Counts: loadgen.Counts{Scheduled: 44, OK: 44}, Balanced: true},
		Nodes: []record.Node{
			{Name: "kube-node3", Machine: "kube-node3 (mdx)", OffProof: "proven (PowerOFF)", OnProof: "proven (new boot id)"},
			{Name: "kube-node4", Machine: "kube-node4 (mdx)", OffProof: "proven (PowerOFF)", OnProof: "proven (new boot id)"},
		},
		Skew:      map[string]int{"kube-node1": 4, "kube-node2": 4, "kube-node3": 4, "kube-node4": 4},
		SkewStart: map[string]int{"kube-node1": 4, "kube-node2": 4, "kube-node3": 4, "kube-node4": 4},
		Forecast: []string{
			"8 of 16 pods are on these nodes; capacity falls from 16 to 8.",
			"kube-node3 and kube-node4 are marked NotReady 5 to 6 s after their last heartbeat.",
			"8 replacements will not fit: they stay Pending.",
			"Pods will not move back by themselves after the return.",
		},
	}
	for _, x := range []struct {
		name, want, got string
	}{
		{"peak served of \"before\"", "16", "16"}, {"peak served of \"during\"", "8", "8"}, {"peak queued of \"during\"", "4", "4"},
		{"peak served of \"after\"", "16", "16"}, {"failed of \"during\"", "0", "0"}, {"failed of \"during\", sent after detection", "0", "0"},
		{"detected inside the forecast", "yes", "2 of 2"}, {"evicted inside the forecast", "yes", "2 of 2"}, {"ledger balanced", "yes", "yes"},
	} {
		s.Expectations = append(s.Expectations, view.Expectation{Name: x.name, Want: x.want, Got: x.got, OK: true})
	}
	for _, x := range []struct {
		name, text string
		from, to   float64
	}{
		{"before", "16 sent = 16 ok", -12, -2.1}, {"shut down kube-node3, kube-node4", "both off, proven", 0, 2}, {"wait: detected", "2 of 2 not Ready", 2, 4.6},
		{"during", "12 sent = 12 ok", 10.3, 29.8}, {"power on kube-node3, kube-node4", "both on, proven", 31, 33.2}, {"wait: restored", "16 of 16 available", 33.2, 38.6}, {"after", "16 sent = 16 ok", 39.1, 48.9},
	} {
		s.Steps = append(s.Steps, record.Step{Name: x.name, State: "done", Started: at(x.from), Ended: at(x.to), Text: x.text})
	}
	for _, n := range nodes {
		s.Phases = append(s.Phases,
			view.Phase{Name: view.PhaseOff, Subject: n, Observed: p(1.5)},
			view.Phase{Name: view.PhaseDetected, Subject: n, Predicted: iv(4.0, 5.0), First: iv(3.9, 5.9), Observed: p(4.6), Source: p(3.8), Inside: yes(true)},
			view.Phase{Name: view.PhaseEvicted, Subject: n, Predicted: iv(24.6, 26.6), First: iv(23.9, 36.9), Observed: p(24.7), Inside: yes(true), Note: "assumed timings"},
			view.Phase{Name: view.PhaseBooted, Subject: n, Observed: p(35.2)},
			view.Phase{Name: view.PhaseReady, Subject: n, Observed: p(36.1), Source: p(35.8)},
		)
	}
	s.Phases = append(s.Phases,
		view.Phase{Name: view.PhaseEndpointsOut, Subject: nodes[0], Predicted: iv(4.6, 6.6), Observed: p(4.9), Inside: yes(true)},
		view.Phase{Name: view.PhaseReplaced, Subject: dep, Note: "will not fit: 8 Pending"},
		view.Phase{Name: view.PhaseRestored, Subject: dep, Observed: p(38.6)},
	)
	for _, x := range []struct {
		name              string
		n, served, queued int
		started, ended    float64
	}{{"before", 16, 16, 0, -12, -2.1}, {"during", 12, 8, 4, 10.3, 29.8}, {"after", 16, 16, 0, 39.1, 48.9}} {
		s.Load = append(s.Load, record.Load{Step: x.name, Sent: x.n, Counts: loadgen.Counts{Scheduled: x.n, OK: x.n}, PeakServed: x.served, PeakQueued: x.queued, Basis: "measured",
			FailedAfterDetection: new([2]int), Started: p(x.started), Ended: p(x.ended)})
	}
	r.Summary = s
	return r
}

// vagrantRecord is nginx behind a NodePort on three nodes, of which one loses
// its power, at real pace: 37 of 100 requests of the error window fail. Its
// detection lies outside the forecast, and 60 s of it were not heard.
func vagrantRecord() *record.Record {
	const dep = "default/nginx-webserver"
	e := &recording{}
	e.add(-30, "load", "load", "", "", "2 per second started", view.Info)
	e.add(0, "operator", "trial", "", "", "zero of the clock: the first power-off is asked for", view.Info)
	e.asks(0, "k8s2", power.ActionOff)
	e.change(8.9, "power", "k8s2", "on", "off", " (powered off)", view.Bad)
	e.add(14, "heartbeat", "k8s2", "on time", "overdue", "heartbeat overdue", view.Bad)
	e.change(53.1, "node", "k8s2", "Ready", "NotReady (silent)", "", view.Bad)
	e.add(53.1, "taint", "k8s2", "", "node.kubernetes.io/unreachable:NoExecute", "taint node.kubernetes.io/unreachable:NoExecute", view.Warning)
	e.change(53.4, "endpoints", "nginx-webserver", "6", "3", " ready", view.Info)
	e.change(53.5, "deployment", "nginx-webserver", "6/6", "3/6", " available", view.Info)
	e.add(200, "link", "API server", "", "", "does not answer: connection refused", view.Bad)
	e.add(260, "link", "API server", "", "", "answers", view.Good)
	for i := range 3 {
		e.change(353.2, "pod", fmt.Sprintf("nginx-webserver-%d", i), "Running", "Terminating", "", view.Warning)
	}
	e.change(362.6, "deployment", "nginx-webserver", "3/6", "6/6", " available", view.Info)
	e.change(382.7, "power", "k8s2", "off", "on", " (running)", view.Good)
	e.change(404.3, "node", "k8s2", "NotReady", "Ready", "", view.Good)
	e.add(450, "operator", "rollout", "", "", "rollout restart of default/nginx-webserver", view.Info)
	e.change(494.5, "deployment", "nginx-webserver", "Updating", "Running", "", view.Good)

	r := &record.Record{Dir: "/var/lib/lightsout/vagrant-1", Events: e.events, Start: at(-30), End: at(505), Zero: zero}
	failing, run := 0, 0
	for s := -30; s < 505; s++ {
		x := record.Second{Second: loadgen.Second{At: at(float64(s) - 0.25), Sampled: true, Sent: 2, OK: 2, Served: 1}, Available: 6}
		if s >= 5 && s < 55 {
			run += 37
			for run >= 50 && x.OK > 0 { // spread 37 over 50 seconds
				run -= 50
				class := loadgen.ClassConnectTimeout
				if failing < 13 {
					class = loadgen.ClassReset
				}
				failing++
				if x.Failed == nil {
					x.Failed = map[loadgen.Class]int{}
				}
				x.Failed[class]++
				x.OK--
				x.OnDead = 2 + run%3
			}
		}
		if s >= 53 && s < 363 {
			x.Available = 3
		}
		if s >= 200 && s < 260 {
			x.Available = -1
		}
		if s >= 503 {
			x.OK, x.Unresolved = 1, 1
		}
		r.Seconds = append(r.Seconds, x)
	}
	r.Lanes = []record.Lane{{Node: "k8s2", Spans: []outage.Span{
		{Kind: outage.SpanOff, From: at(8.9), To: at(382.7), After: at(8.9)},
		{Kind: outage.SpanSilent, From: at(14), To: at(402), After: at(14)},
		{Kind: outage.SpanNotReady, From: at(53.1), To: at(404.3), After: at(53.1)},
	}}, {Node: "k8s3"}}
	r.Summary = &record.Summary{
		Version: record.SummaryVersion, Name: "vagrant", About: "One of three nodes loses its power under nginx behind a NodePort.", Verdict: view.Fail,
		Why:  []string{"\"detected inside the forecast\" was not met: 1.2 s late", "the outage was observed and the return proven"},
		Pace: "real", Cluster: "k8s", Server: "v1.36.3", Deployment: dep, Started: at(-30), Zero: zero, Ended: at(505),
		Settings: []record.Setting{
			{Name: "node-monitor-grace-period", Value: "50s", Source: "assumed"},
			{Name: "node-monitor-period", Value: "5s", Source: "assumed"},
			{Name: "tolerationSeconds of node.kubernetes.io/unreachable", Value: "300s", Source: "pod"},
		},
		Expectations: []view.Expectation{
			{Name: "detected inside the forecast", Want: "yes", Got: "1.2 s late", OK: false},
			{Name: "error window", Want: "at most 60 s", Got: "52.8 s, 36 requests; 1 failed later, from 451.0 s to 454.0 s", OK: true},
			{Name: "lowest available", Want: "3", Got: "3", OK: true},
			{Name: "skew before the rollout", Want: "6", Got: "6", OK: true},
			{Name: "skew at the end", Want: "at most 1", Got: "not observed", Unobserved: true},
		},
		Steps: []record.Step{
			{Name: "power off k8s2", State: "done", Started: at(0), Ended: at(9), Text: "off, proven"},
			{Name: "wait: replaced", State: "done", Started: at(9), Ended: at(362.6), Text: "6 of 6 available"},
			{Name: "power on k8s2", State: "done", Started: at(382.7), Ended: at(404.3), Text: "Ready"},
			{Name: "rollout restart", State: "failed", Started: at(450), Ended: at(494.5), Text: "1 request failed meanwhile"},
		},
		Phases: []view.Phase{
			{Name: view.PhaseOff, Subject: "k8s2", Observed: p(8.9)},
			{Name: view.PhaseDetected, Subject: "k8s2", Predicted: iv(41.9, 51.9), Observed: p(53.1), Source: p(52.8), Inside: yes(false), Note: "assumed timings"},
			{Name: view.PhaseEndpointsOut, Subject: "k8s2", Predicted: iv(53.1, 55.1), Observed: p(53.4), Inside: yes(true)},
			{Name: view.PhaseErrors, Subject: "load", From: p(4.9), Predicted: iv(41.9, 58.1), Observed: p(57.7), Inside: yes(true)},
			{Name: view.PhaseTainted, Subject: "k8s2", Predicted: iv(53.1, 58.1), Observed: p(53.1), Inside: yes(true)},
			{Name: view.PhaseEvicted, Subject: "k8s2", Predicted: iv(352.8, 354.8), First: iv(341.9, 361.9), Observed: p(353.2), Inside: yes(true), Note: "seen after a blind span"},
			{Name: view.PhaseReplaced, Subject: dep, Predicted: iv(353.2, 383.2), Observed: p(362.6), Inside: yes(true)},
			{Name: view.PhaseReady, Subject: "k8s2", Observed: p(404.3)},
			{Name: view.PhaseRestored, Subject: dep, Predicted: iv(404.3, 420)},
		},
		Load: []record.Load{{Step: "2 per second", Sent: 1070, Counts: loadgen.Counts{Scheduled: 1070, OK: 1031, Failed: 37, InFlight: 2,
			FailedByClass: map[loadgen.Class]int{loadgen.ClassConnectTimeout: 24, loadgen.ClassReset: 13}}, PeakServed: 5, Basis: "estimated",
			Failures:             record.Failures{ErrorWindows: []record.Span{{From: 4.9, To: 57.7, Failed: 36}}, LaterFailures: &record.Span{From: 451, To: 454, Failed: 1}},
			FailedAfterDetection: new([2]int), Started: p(-30)}},
		Ledger:    record.Ledger{Counts: loadgen.Counts{Scheduled: 1070, OK: 1031, Failed: 37, InFlight: 2}, Balanced: true},
		Nodes:     []record.Node{{Name: "k8s2", Machine: "k8s2 (command)", OffProof: "presumed (ssh silent, node silent)", OnProof: "proven (new boot id)"}},
		Blind:     []record.Blind{{From: 200, To: 260, Why: "the API server did not answer (connection refused)"}},
		Skew:      map[string]int{"k8s3": 6},
		SkewStart: map[string]int{"k8s2": 3, "k8s3": 3},
		Forecast:  []string{"3 of 6 pods are on k8s2.", "Nothing moves back after the return until a rollout."},
	}
	return r
}

// tornRecord is what is left of vagrantRecord when the program was killed 100
// seconds in.
func tornRecord() *record.Record {
	r := vagrantRecord()
	r.Dir, r.Summary, r.End = "/var/lib/lightsout/killed-1", nil, at(100)
	r.Torn = []string{"there is no summary: lightsout ended before the trial was judged", "the last line of requests.jsonl is not whole"}
	keep := 0
	for _, e := range r.Events {
		if e.At.Before(r.End) {
			keep++
		}
	}
	r.Events = r.Events[:keep]
	keep = 0
	for _, s := range r.Seconds {
		if s.At.Before(r.End) {
			keep++
		}
	}
	r.Seconds = r.Seconds[:keep]
	r.Runs = []loadgen.Result{runOf(r.Seconds, r.End)}
	for i := range r.Lanes[0].Spans {
		r.Lanes[0].Spans[i].To = time.Time{}
	}
	return r
}

// abortedRecord is mdxRecord when it was ended ten seconds in, and the machines
// were left off.
func abortedRecord() *record.Record {
	r := mdxRecord()
	r.Dir, r.End = "/var/lib/lightsout/mdx-2", at(10)
	r.Events = slices.DeleteFunc(r.Events, func(e view.Event) bool { return e.At.After(r.End) })
	r.Seconds = r.Seconds[:24]
	for _, l := range r.Lanes {
		for i := range l.Spans {
			l.Spans[i].To = time.Time{}
		}
	}
	s := r.Summary
	s.Verdict, s.Ended, s.LeftOff = view.Aborted, r.End, []string{"kube-node3", "kube-node4"}
	for i, n := range s.LeftOff {
		shows(r, -1-float64(i), cluster.Ref{Kind: cluster.KindDeployment, Key: r.Deployment()}, n, true, 0, n+"-a", n+"-b", n+"-c", n+"-d")
	}
	s.Why = []string{"the operator ended the trial at step \"during\", and the machines were to be left off"}
	s.Ledger = record.Ledger{Counts: loadgen.Counts{Scheduled: 28, OK: 16, Cancelled: 11}}
	s.Load = s.Load[:2]
	s.Load[1].OK, s.Load[1].Cancelled = 0, 11
	for i := range s.Nodes {
		s.Nodes[i].OnProof = "none"
	}
	s.Phases = slices.DeleteFunc(s.Phases, func(p view.Phase) bool { return p.Observed != nil && *p.Observed > 10 })
	s.Steps[3].State, s.Steps[3].Text = "cut", "ended by the operator"
	for i := 4; i < len(s.Steps); i++ {
		s.Steps[i].State, s.Steps[i].Started, s.Steps[i].Ended, s.Steps[i].Text = "skipped", time.Time{}, time.Time{}, ""
	}
	for i := range s.Expectations[1:] {
		x := &s.Expectations[i+1]
		x.OK, x.Got, x.Unobserved = false, "not observed", true
	}
	s.Skew = nil
	return r
}

// evil is a text that means harm to every format.
const evil = "<script>alert(1)</script>\x1b[31mred\x1b]0;title\x07|cell|\n# head\r\n]]>`code`**b** [l](http://evil.example/) &amp; \"q\" 'a' \u202egnp.exe\u202c \x00\ufffe{{.}} --> </svg></style>"

// hostileRecord holds evil wherever a text can be.
func hostileRecord() *record.Record {
	r := mdxRecord()
	class := loadgen.Class(evil)
	r.Dir = "/records/" + evil
	for i := range r.Events {
		e := &r.Events[i]
		e.Subject, e.Text, e.Lane = evil+fmt.Sprint(i), evil, "node"
		if i%3 == 0 {
			e.Lane = evil
		}
		e.From, e.To, e.Why, e.Kind = evil, evil, evil, evil
	}
	r.Seconds[20].Failed = map[loadgen.Class]int{class: 3}
	for i := range r.Lanes {
		r.Lanes[i].Node = evil + fmt.Sprint(i)
		for j := range r.Lanes[i].Spans {
			r.Lanes[i].Spans[j].Kind = outage.SpanKind(evil)
		}
	}
	r.Torn = []string{evil}
	s := r.Summary
	s.Name, s.About, s.Verdict, s.Why, s.Pace, s.Cluster, s.Server, s.Deployment = evil, evil, view.Verdict(evil), []string{evil}, evil, evil, evil, evil
	s.Settings = []record.Setting{{Name: evil, Value: evil, Source: evil}}
	s.Expectations = []view.Expectation{{Name: evil, Want: evil, Got: evil}}
	s.Steps = []record.Step{{Name: evil, State: evil, Text: evil}}
	s.Phases = []view.Phase{{Name: evil, Subject: evil, Note: evil, Predicted: iv(1, 2), Observed: p(3)}}
	s.Load = []record.Load{{Step: evil, Basis: evil, Sent: 3, Counts: loadgen.Counts{Scheduled: 3, Failed: 3, FailedByClass: map[loadgen.Class]int{class: 3}}}}
	s.Nodes = []record.Node{{Name: evil, Machine: evil, OffProof: evil, OnProof: evil}}
	s.Blind = []record.Blind{{From: 1, To: 5, Why: evil}}
	s.Skew, s.SkewStart = map[string]int{evil: 3}, map[string]int{evil: 3}
	s.Forecast, s.LeftOff = []string{evil}, []string{evil}
	return r
}

// runOf sums up the requests of seconds that had ended by the end: failed ones
// take 3 s.
func runOf(seconds []record.Second, end time.Time) loadgen.Result {
	run := loadgen.RunSum{Result: loadgen.Result{Number: 1, Spec: loadgen.Spec{Shape: loadgen.Rate}}, Untimed: true}
	add := func(q loadgen.Record) {
		if q.End.Before(end) {
			run.Count(&q)
		}
	}
	for _, x := range seconds {
		for c, n := range x.Failed {
			add(loadgen.Record{Class: c, Count: n, Scheduled: x.At, End: x.At.Add(3 * time.Second)})
		}
		if x.OK == 0 {
			continue
		}
		add(loadgen.Record{Class: loadgen.ClassOK, Count: x.OK, Scheduled: x.At, Sent: x.At, End: x.At.Add(10 * time.Millisecond)})
	}
	return run.Result
}
