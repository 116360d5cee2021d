package tui

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/cluster"
	spans "lightsout/internal/outage"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

var fuzzKeys = []string{"up", "down", "left", "right", "tab", "shift+tab", "enter", "esc", "space", "pgup", "pgdown",
	"home", "end", "backspace", "1", "2", "3", "4", "5", "*", "s", "x", "o", "b", "l", "r", "+", "-", "n", "c", "m",
	"f", "/", "a", "z", "?", "q", "g", "G", "ctrl+l", "ctrl+u", "長", "e", "t", "T", "R", "d", "w", "6", "[", "]", ",", ".", "shift+left", ":", "y", "O", "i", "I", "M", "u", "ctrl+z", "7"}

// FuzzScreen draws random frames at random sizes between random keys: it never
// panics, and every line is exactly as wide as the screen.
func FuzzScreen(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, "name\x1b[31m-長い")
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		m, _, now := testModel(nil, 80, 24, Options{ASCII: seed%5 == 0, NoColor: seed%3 == 0})
		w, h := 80, 24
		for range 60 {
			*now = now.Add(time.Duration(rnd.IntN(1500)) * time.Millisecond)
			switch rnd.IntN(8) {
			case 0:
				m.Update(FrameMsg{randomFrame(rnd, text)})
			case 1:
				w, h = 1+rnd.IntN(220), 1+rnd.IntN(70)
				resize(m, w, h)
			case 2:
				m.Update(tea.PasteMsg{Content: text})
			default:
				m.Update(keyMsg(fuzzKeys[rnd.IntN(len(fuzzKeys))]))
			}
			checkWidths(t, m, w, h)
		}
	})
}

// randomFrame is a frame with anything in it, text among its names.
func randomFrame(rnd *rand.Rand, text string) *view.Frame {
	word := func() string {
		return []string{text, "node", "", fmt.Sprint(text, rnd.IntN(9)), "計算", "a-b-c-d-e-f"}[rnd.IntN(6)]
	}
	at := func() time.Time {
		if rnd.IntN(4) == 0 {
			return time.Time{}
		}
		return t0.Add(time.Duration(rnd.IntN(400)-200) * time.Second)
	}
	num := func() int { return rnd.IntN(30) - 2 }
	c := cluster.Contents{At: t0, Server: word(), Link: cluster.Link{
		State: cluster.LinkState(rnd.IntN(3)), LastContact: at(), Err: word(), NextTry: at()},
		Access: map[cluster.Kind]cluster.Access{cluster.KindPod: {Forbidden: rnd.IntN(2) == 0}, cluster.KindNode: {Synced: true}}}
	for i := range rnd.IntN(30) {
		c.Nodes = append(c.Nodes, &cluster.Node{Name: fmt.Sprint(word(), i), Ready: cluster.Tri(rnd.IntN(4)), Message: word(),
			RenewSeen: at(), LeaseDuration: 40 * time.Second, Changed: at(), Gone: time.Time{}, Unschedulable: rnd.IntN(3) == 0,
			Taints: []cluster.Taint{{Key: word(), Effect: "NoExecute", TimeAdded: at()}}})
	}
	for i := range rnd.IntN(40) {
		p := &cluster.Pod{Key: cluster.Key{Namespace: "ns", Name: fmt.Sprint(word(), i)}, Status: word(), Phase: "Running",
			Ready: rnd.IntN(2) == 0, Restarts: num(), Created: at(), Changed: at(), Deployment: word(), UnreachableFor: time.Minute}
		if len(c.Nodes) > 0 {
			p.Node = c.Nodes[rnd.IntN(len(c.Nodes))].Name
		}
		if rnd.IntN(5) == 0 {
			p.Deleting = at()
		}
		c.Pods = append(c.Pods, p)
	}
	hist := map[cluster.Key][]int{}
	for i := range rnd.IntN(6) {
		d := &cluster.Deployment{Key: cluster.Key{Namespace: word(), Name: fmt.Sprint(word(), i)}, Replicas: num(), Available: num(),
			Word: []string{"Running", "Down", "Partly", text}[rnd.IntN(4)], Changed: at(), Knative: &cluster.Knative{Service: word()}}
		c.Deployments = append(c.Deployments, d)
		hist[d.Key] = []int{num(), num(), num()}
	}
	f := &view.Frame{Title: view.Title{Cluster: word(), Via: word(), Pace: word(), Production: rnd.IntN(2) == 0, ReadOnly: rnd.IntN(3) == 0},
		Now: t0, Zero: at(), Snapshot: cluster.NewSnapshot(c), History: hist, NoLoad: word(), Notice: view.Notice{Text: word(), At: at()},
		RecordErr: word(), Next: []string{word(), text}, Power: map[string]view.MachineView{}}
	for _, n := range c.Nodes {
		f.Power[n.Name] = view.MachineView{Reading: power.Reading{State: power.State(rnd.IntN(4)), Detail: word()}, Text: word(),
			Busy: []power.Action{"", power.ActionOn, "other"}[rnd.IntN(3)], Stage: []power.Stage{power.StageSending, power.StageFailed}[rnd.IntN(2)]}
	}
	f.Load = loadgen.Run{Spec: loadgen.Spec{Shape: loadgen.Hold, N: num()}, Active: rnd.IntN(2) == 0, URL: word(), LastError: word(),
		Totals: loadgen.Totals{Scheduled: num(), OK: num(), Failed: map[loadgen.Class]int{loadgen.Class(word()): num()}, Sent: num()},
		Gauge: loadgen.Gauge{Capacity: num(), Target: num(), Served: num(), Queued: num(), Stalled: num(), OnDead: num(),
			Basis: loadgen.BasisPartial, Source: word()}}
	start := t0.Add(-time.Duration(rnd.IntN(200)) * time.Second)
	for i := range rnd.IntN(130) {
		f.Load.Seconds = append(f.Load.Seconds, loadgen.Second{At: start.Add(time.Duration(i) * time.Second), Sampled: rnd.IntN(5) > 0,
			Sent: num(), Unresolved: num(), Served: num(), Queued: num(), Capacity: num(), Target: num(),
			Failed: map[loadgen.Class]int{loadgen.ClassReset: num()}})
	}
	for i := range rnd.IntN(50) {
		f.Events = append(f.Events, view.Event{Seq: i + 1, At: at(), Seen: at(), Lane: view.Lane(word()), Subject: word(), Text: word(), From: word(), To: text, Level: view.Level(rnd.IntN(5))})
	}
	addTrial(rnd, f, word, at, num)
	if rnd.IntN(4) == 0 {
		q := &view.Question{ID: fmt.Sprint(rnd.IntN(5)), Title: word(), Refused: rnd.IntN(3) == 0, Secret: rnd.IntN(3) == 0}
		for range rnd.IntN(40) {
			q.Lines = append(q.Lines, view.Line{Level: view.Level(rnd.IntN(4)), Text: word() + ":"})
		}
		for range rnd.IntN(4) {
			q.Choices = append(q.Choices, view.Choice{ID: word(), Label: word()})
		}
		if rnd.IntN(2) == 0 {
			q.Type = word()
		}
		f.Question = q
	}
	return f
}

// addTrial puts a trial, outages and a replay with anything in them into f.
func addTrial(rnd *rand.Rand, f *view.Frame, word func() string, at func() time.Time, num func() int) {
	for range rnd.IntN(8) {
		f.Outages = append(f.Outages, spans.Span{Node: word(), Kind: []spans.SpanKind{spans.SpanOff, spans.SpanNotReady, "other"}[rnd.IntN(3)], From: at(), To: at()})
	}
	if rnd.IntN(4) == 0 {
		r := &view.ReplayView{Dir: word(), Start: at(), End: at(), Paused: rnd.IntN(2) == 0, Speed: float64(num()) / 4, Torn: word()}
		for range rnd.IntN(6) {
			r.Marks = append(r.Marks, view.Bookmark{At: at(), Text: word()})
		}
		f.Replay = r
	}
	if rnd.IntN(3) > 0 {
		return
	}
	v := &view.TrialView{Name: word(), Keyboard: rnd.IntN(3) == 0, Driven: rnd.IntN(2) == 0, Waiting: rnd.IntN(2) == 0, Next: num(), Doing: word(), Started: at(),
		Verdict: view.Verdict([]string{"", "", "pass", "fail", "not observed", word()}[rnd.IntN(6)])}
	number := func() *float64 {
		if rnd.IntN(3) == 0 {
			return nil
		}
		n := rnd.Float64()*1e4 - 1e3
		return &n
	}
	for range rnd.IntN(20) {
		v.Steps = append(v.Steps, view.StepView{Name: word(), Text: word(), State: []view.StepState{view.StepToCome, view.StepUnderWay, view.StepDone, view.StepFailed, view.StepSkipped, view.StepCut, view.StepState(word())}[rnd.IntN(7)]})
		p := view.Phase{Name: word(), Subject: word(), Observed: number(), From: number(), Note: word()}
		if lo, hi := number(), number(); lo != nil && hi != nil {
			p.Predicted = &[2]float64{*lo, *hi}
		}
		if b := rnd.IntN(2) == 0; rnd.IntN(2) == 0 {
			p.Inside = &b
		}
		v.Phases = append(v.Phases, p)
		v.Expectations = append(v.Expectations, view.Expectation{Name: word(), Want: word(), Got: word(), OK: rnd.IntN(2) == 0})
		v.Why = append(v.Why, word())
	}
	f.Trial = v
}
