package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// ChoiceDrain is the id of the choice to drain before a shutdown.
const ChoiceDrain = "drain"

// The ids of choices.
const (
	choiceNo      = "no"
	choiceYes     = "yes"
	choiceRestore = "on"
	choiceLeave   = "leave"
	choiceWait    = "wait"
	choiceCut     = "cut"
)

// ask queues a question; the first in the queue is shown.
func (e *Engine) ask(q view.Question, answer func(view.Answer)) *asked {
	e.nextID++
	q.ID = fmt.Sprintf("q%d", e.nextID)
	a := &asked{question: &q, answer: answer}
	e.questions = append(e.questions, a)
	return a
}

func (e *Engine) withdraw(a *asked) {
	e.questions = slices.DeleteFunc(e.questions, func(x *asked) bool { return x == a })
}

// answered checks an answer against its question before it is acted on: the
// screen is not trusted with the guards.
func (e *Engine) answered(a view.Answer) {
	i := slices.IndexFunc(e.questions, func(x *asked) bool { return x.question.ID == a.Question })
	if i < 0 {
		return
	}
	q := e.questions[i]
	known := slices.ContainsFunc(q.question.Choices, func(c view.Choice) bool { return c.ID == a.Choice })
	acts := len(q.question.Choices) > 0 && a.Choice != q.question.Choices[0].ID
	if !known || (acts && (q.question.Refused || q.question.Type != "" && a.Typed != q.question.Type)) {
		a.Choice = choiceNo
	}
	e.questions = slices.Delete(e.questions, i, i+1)
	q.answer(a)
}

// switchQuestion says what will be switched, how it will be undone, what it
// hits and what the guards say.
func (e *Engine) switchQuestion(p switchPlan) view.Question {
	q := view.Question{Kind: view.QuestionSwitch, Title: switchTitle(p.ask)}
	for _, b := range p.bindings {
		q.Lines = append(q.Lines, view.Line{Text: b.Node.Name + "  " + e.routeText(p.ask.Action, b)})
	}
	if p.ask.Action != power.ActionOn && p.snapshot != nil {
		q.Lines = append(q.Lines, view.Line{Text: "What it hits:"})
		r := cluster.Blast(p.snapshot, p.ask.Nodes)
		q.Lines = append(q.Lines, radiusLines(r)...)
		q.Lines = append(q.Lines, view.Line{Text: "What follows:"})
		q.Lines = append(q.Lines, followLines(p.snapshot, r)...)
		if wont := cluster.WontHappen(p.snapshot, r); len(wont) > 0 {
			q.Lines = append(q.Lines, view.Line{Text: "What will not happen:"})
			for _, text := range wont {
				q.Lines = append(q.Lines, view.Line{Level: view.Warning, Text: text})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.problems)) {
		q.Lines = append(q.Lines, view.Line{Level: view.Bad, Text: fmt.Sprintf("%s: %v", name, p.problems[name])})
	}
	for _, f := range p.findings {
		level := view.Warning
		if f.Severity == power.Refuse {
			level = view.Bad
		}
		q.Lines = append(q.Lines, view.Line{Level: level, Text: f.Text})
	}
	switch {
	case power.Refused(p.findings):
		q.Refused = true
		q.Choices = []view.Choice{{ID: choiceNo, Label: "Close"}}
		return q
	case p.ask.Action == power.ActionOn:
	case e.opt.Production:
		q.Type = e.opt.Cluster
	case power.NeedsOverride(p.findings):
		q.Type = strings.Join(p.ask.Nodes, " ")
	}
	if e.opt.DryRun {
		q.Lines = append(q.Lines, view.Line{Text: "Dry run: nothing will be switched."})
	}
	q.Choices = []view.Choice{{ID: choiceNo, Label: noLabel(p.ask)}, {ID: choiceYes, Label: yesLabel(p.ask)}}
	if e.canDrain(p.ask.Action) {
		q.Choices = append(q.Choices, view.Choice{ID: ChoiceDrain, Label: "Drain, then shut down"})
	}
	return q
}

// radiusLines puts a blast radius into words.
func radiusLines(r cluster.Radius) []view.Line {
	lines := []view.Line{{Text: fmt.Sprintf("%s, %d Ready %s left", text.Count(r.Pods, "pod", "pods"), r.ReadyWorkersLeft, text.Noun(r.ReadyWorkersLeft, "worker", "workers"))}}
	const most = 8
	for i, d := range r.Deployments {
		if i == most {
			lines = append(lines, view.Line{Text: fmt.Sprintf("and %d more deployments", len(r.Deployments)-most)})
			break
		}
		l := view.Line{Text: fmt.Sprintf("%s: %d → %d available", d.Key, d.AvailableBefore, d.AvailableAfter)}
		if d.CapacityBefore > 0 {
			l.Text += fmt.Sprintf(", capacity %d → %d", d.CapacityBefore, d.CapacityAfter)
		}
		if d.BelowMinimum {
			l.Level, l.Text = view.Warning, l.Text+fmt.Sprintf(", below its minimum of %d", d.Minimum)
		}
		lines = append(lines, l)
	}
	return lines
}

// followLines says what the control plane will do after the nodes have fallen
// silent, by the settings in force.
func followLines(s *cluster.Snapshot, r cluster.Radius) []view.Line {
	grace, period := s.Settings.GracePeriod, s.Settings.MonitorPeriod.Value
	lines := []view.Line{{Text: fmt.Sprintf("NotReady %s–%s after the last heartbeat (grace period %s, %s)",
		text.Span(grace.Value), text.Span(grace.Value+2*period), text.Span(grace.Value), source(grace.Source))}}
	if text := toleranceText(s, r.Nodes); text != "" && r.ZoneRule == "" {
		lines = append(lines, view.Line{Text: text})
	}
	if r.Room != "" {
		l := view.Line{Text: r.Room}
		if r.WillNotFit > 0 {
			l.Level = view.Warning
		}
		lines = append(lines, l)
	}
	return lines
}

func source(s string) string {
	if s == cluster.Assumed || s == "" {
		return cluster.Assumed
	}
	return "from " + s
}

// toleranceText says when the pods on the nodes are evicted, by their own
// tolerations of an unreachable node.
func toleranceText(s *cluster.Snapshot, nodes []string) string {
	var least, most time.Duration
	n := 0
	for _, node := range nodes {
		for _, p := range s.PodsOn(node) {
			d := p.UnreachableFor
			if d < 0 || !p.Gone.IsZero() || p.Static {
				continue // tolerated for ever
			}
			if n == 0 || d < least {
				least = d
			}
			most = max(most, d)
			n++
		}
	}
	switch {
	case n == 0:
		return ""
	case least == most:
		return fmt.Sprintf("evicted %s after that (their own tolerations)", text.Span(most))
	}
	return fmt.Sprintf("evicted %s to %s after that (their own tolerations)", text.Span(least), text.Span(most))
}

func switchTitle(a view.AskPower) string {
	who := text.Count(len(a.Nodes), "node", "nodes")
	if n := len(a.Nodes); n <= 3 {
		who = strings.Join(a.Nodes[:max(n-1, 0)], ", ")
		if n > 1 {
			who += " and "
		}
		who += a.Nodes[n-1]
	}
	return switchVerb(a.Action) + " " + who + "?"
}

func switchVerb(a power.Action) string {
	switch a {
	case power.ActionOn:
		return "Power on"
	case power.ActionOff:
		return "Pull the plug on"
	default:
		return "Shut down"
	}
}

func yesLabel(a view.AskPower) string {
	return switchVerb(a.Action) + " " + text.Count(len(a.Nodes), "node", "nodes")
}

func noLabel(a view.AskPower) string {
	if a.Action == power.ActionOn {
		return "Not now"
	}
	return "Leave " + text.Noun(len(a.Nodes), "it", "them") + " on"
}

// routeText says by which machine an action is done and how it is undone.
func (e *Engine) routeText(a power.Action, b power.Binding) string {
	m, err := e.opt.Fleet.Can(b, a)
	if err != nil {
		return "no way: " + err.Error()
	}
	if a == power.ActionOn {
		return "on by " + machineName(&m)
	}
	text := "off by " + machineName(&m)
	if b.On != nil {
		text += "; on again by " + machineName(b.On)
	}
	return text
}

// askRestore offers to power on what an earlier run has left off.
func (e *Engine) askRestore(left []power.LeftOff) {
	q := view.Question{Kind: view.QuestionRestore, Title: "Machines are still off", Choices: []view.Choice{{ID: choiceNo, Label: "Not now"}, {ID: choiceYes, Label: "Power on"}}}
	if len(left) > 0 {
		q.Lines = append(q.Lines, view.Line{Text: "lightsout switched these off and has not seen them on again:"})
		q.Lines = append(q.Lines, leftOffLines(left)...)
	}
	if nodes := e.stillCordoned(); len(nodes) > 0 {
		q.Lines = append(q.Lines, view.Line{Text: "lightsout cordoned these and has not uncordoned them:"})
		q.Lines = append(q.Lines, cordonLines(nodes)...)
		q.Choices[1].Label = "Power on and uncordon"
		if len(left) == 0 {
			q.Title, q.Choices[1].Label = "Nodes are still cordoned", "Uncordon"
		}
	}
	e.ask(q, func(a view.Answer) {
		if a.Choice == choiceYes {
			e.restore()
		}
	})
}

func leftOffLines(left []power.LeftOff) []view.Line {
	var lines []view.Line
	for _, l := range left {
		text := "  " + l.Node
		if l.Certainty == power.LeftOffUncertain {
			text += " (asked for, outcome not known)"
		}
		lines = append(lines, view.Line{Level: view.Warning, Text: text})
	}
	return lines
}

// restore powers on everything that was left off, and uncordons what was left
// cordoned: at once where the machine is on, else when the node has returned.
func (e *Engine) restore() {
	for _, n := range e.stillCordoned() {
		if _, off := e.leftOff[n]; !off {
			e.release(n)
		}
	}
	if len(e.leftOff) == 0 {
		return
	}
	if e.opt.Fleet == nil {
		e.warn(view.LanePower, "power", e.noPower())
		return
	}
	p := switchPlan{ask: view.AskPower{Action: power.ActionOn}}
	for _, name := range slices.Sorted(maps.Keys(e.leftOff)) {
		p.ask.Nodes = append(p.ask.Nodes, name)
		p.bindings = append(p.bindings, e.leftOff[name].Binding)
	}
	e.switchMachines(p, nil)
}

// askQuit ends the session, or first asks what to do with machines that are off.
func (e *Engine) askQuit() {
	if e.running() {
		e.askTrial()
		return
	}
	e.readLeftOff() // also what is being switched off just now
	if e.settled() {
		e.ending = true
		return
	}
	if e.askedToQuit() {
		return
	}
	var left []power.LeftOff
	for _, name := range slices.Sorted(maps.Keys(e.leftOff)) {
		left = append(left, e.leftOff[name])
	}
	q := view.Question{Kind: view.QuestionQuit, Title: "Leave with machines off?", Choices: []view.Choice{{ID: choiceNo, Label: "Stay"}, {ID: choiceRestore, Label: "Power on, then leave"}, {ID: choiceLeave, Label: "Leave them off"}}}
	cordoned := e.stillCordoned()
	switch {
	case len(left) > 0:
		q.Lines = append(q.Lines, view.Line{Text: "Still off:"})
		q.Lines = append(q.Lines, leftOffLines(left)...)
		if len(cordoned) > 0 {
			q.Lines = append(q.Lines, view.Line{Text: "Still cordoned by lightsout:"})
			q.Lines = append(q.Lines, cordonLines(cordoned)...)
		}
		q.Lines = append(q.Lines, view.Line{Text: "`lightsout restore` powers them on later, and so does the next start."})
	case len(e.cordons.drains) > 0:
		q.Title = "Leave while nodes are being drained?"
		q.Choices = []view.Choice{{ID: choiceNo, Label: "Stay"}, {ID: choiceRestore, Label: "Give it up, then leave"}, {ID: choiceLeave, Label: "Leave them cordoned"}}
	case len(cordoned) > 0:
		q.Title = "Leave with nodes cordoned?"
		q.Choices = []view.Choice{{ID: choiceNo, Label: "Stay"}, {ID: choiceRestore, Label: "Uncordon, then leave"}, {ID: choiceLeave, Label: "Leave them cordoned"}}
		q.Lines = append(q.Lines, view.Line{Text: "Still cordoned by lightsout:"})
		q.Lines = append(q.Lines, cordonLines(cordoned)...)
		q.Lines = append(q.Lines, view.Line{Text: "`lightsout restore` uncordons them later, and so does the next start."})
	default:
		q.Title = "Leave while machines are being switched?"
		q.Choices = []view.Choice{{ID: choiceNo, Label: "Stay"}, {ID: choiceLeave, Label: "Leave"}}
	}
	e.ask(q, func(a view.Answer) {
		switch a.Choice {
		case choiceLeave:
			e.ending = true
		case choiceRestore:
			e.leaveWhenOn = true
			e.leaveDrains()
			e.restore()
			e.leaveIfSettled()
		}
	})
}

// settled reports whether no machine is off or being switched, and no node
// cordoned or being drained, because of us.
func (e *Engine) settled() bool {
	return len(e.leftOff) == 0 && len(e.cordons.ours) == 0 && len(e.cordons.drains) == 0 && (e.opt.Fleet == nil || len(e.opt.Fleet.Busy()) == 0)
}

func (e *Engine) askedToQuit() bool {
	return slices.ContainsFunc(e.questions, func(a *asked) bool { return a.question.Kind == view.QuestionQuit })
}

// leaveIfSettled ends the session when the operator wants to leave and the
// reason to stay has gone.
func (e *Engine) leaveIfSettled() {
	if (e.leaveWhenOn || e.askedToQuit()) && e.settled() {
		e.ending = true
	}
}

// LeftOff names the nodes whose machines this program has switched off and not
// seen on again, from the journal. Safe for use by several goroutines.
func (e *Engine) LeftOff() []string {
	if e.opt.Journal == nil {
		return nil
	}
	left, err := e.opt.Journal.LeftOff()
	if err != nil {
		return nil
	}
	var names []string
	for _, l := range left {
		names = append(names, l.Node)
	}
	slices.Sort(names)
	return names
}
