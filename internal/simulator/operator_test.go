package simulator

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"lightsout/internal/session"
	"lightsout/internal/trial"
	"lightsout/internal/view"
	"lightsout/power"
)

// operator sits at a screen: reads frames, and presses keys at random.
type operator struct {
	x      *site
	a      *parts
	s      *session.Session
	trials *trial.Runner

	frame    *view.Frame
	question string    // the newest question
	answerAt time.Time // when the operator will answer
	keyAt    time.Time
	promises []promise
	trial    *outage   // the newest trial
	began    time.Time // when it started
	ending   bool      // a signal or the operator has ended it
	byHand   []string  // nodes that the operator was switching by hand when it started
	absent   bool      // there is no terminal, so the operator types nothing
}

// sit watches the screen until the session is over.
func (o *operator) sit() {
	p := o.a.p
	keys := o.x.w.dice("keys " + p.name)
	o.keyAt = time.Now().Add(between(keys, time.Second, 4*time.Second))
	if o.absent {
		o.keyAt = time.Now().Add(between(keys, 10*time.Second, 3*time.Minute))
		if o.trial.allows > 0 && chance(keys, 70) { // let it continue
			o.keyAt = time.Now().Add(time.Hour)
		}
	}
	tick := time.NewTimer(time.Hour)
	defer tick.Stop()
	for {
		next := o.keyAt
		if o.question != "" && o.answerAt.Before(next) {
			next = o.answerAt
		}
		tick.Reset(max(time.Until(next), time.Millisecond))
		select {
		case f, ok := <-o.s.Frames():
			if !ok {
				return
			}
			if p.running() {
				o.look(f, keys)
			}
		case <-tick.C:
			if !p.running() { // the program reads it later
				o.keyAt, o.answerAt = o.keyAt.Add(time.Second), o.answerAt.Add(time.Second)
				continue
			}
			o.press(keys)
		}
	}
}

func (o *operator) look(f *view.Frame, r *rand.Rand) {
	p := o.a.p
	o.frame = f
	o.x.shown(p, f)
	o.promises = o.x.kept(p, o.promises, f)
	switch {
	case f.Question == nil:
		o.question = ""
	case f.Question.ID != o.question:
		o.question = f.Question.ID
		for i := range o.promises { // a question is an answer to the operator too, also about those that are left off
			o.promises[i].nodes = slices.DeleteFunc(slices.Clone(o.promises[i].nodes), func(n string) bool {
				return slices.Contains(words(f.Question.Title), n) || slices.ContainsFunc(f.Question.Lines, func(l view.Line) bool { return slices.Contains(words(l.Text), n) })
			})
		}
		o.answerAt = time.Now().Add(between(r, 300*time.Millisecond, 4*time.Second))
		if chance(r, 10) {
			o.answerAt = time.Now().Add(between(r, 10*time.Second, time.Minute))
		}
	}
}

func (o *operator) press(r *rand.Rand) {
	now := time.Now()
	if !o.absent && o.question != "" && !now.Before(o.answerAt) && o.frame.Question != nil {
		o.answer(o.frame.Question, r)
		o.question = ""
	}
	if now.Before(o.keyAt) {
		return
	}
	if o.absent {
		if o.keyAt = now.Add(time.Hour); o.frame != nil {
			o.interrupt("SIGTERM")
		}
		return
	}
	o.keyAt = now.Add(between(r, time.Second, 25*time.Second))
	if o.question != "" || o.frame == nil {
		return
	}
	name := o.a.p.name
	switch k := r.IntN(100); {
	case k < 45:
		a := []power.Action{power.ActionShutdown, power.ActionShutdown, power.ActionOff}[r.IntN(3)]
		nodes := pick(o.x.w.workers(), 1+r.IntN(2), r)
		o.x.w.tell(name, "key: %s %v", a, nodes)
		o.s.Send(view.AskPower{Action: a, Nodes: nodes})
	case k < 60:
		nodes := pick(o.x.w.workers(), 1+r.IntN(2), r)
		o.x.w.tell(name, "key: on %v", nodes)
		o.s.Send(view.AskPower{Action: power.ActionOn, Nodes: nodes})
	case k < 72:
		o.x.w.tell(name, "key: q")
		o.s.Send(view.AskQuit{})
	case k < 80 && o.frame.Trial == nil:
		o.start(newOutage(pick(o.x.w.workers(), 2, r), o.x.guests, r), trial.RunOptions{Auto: true})
	case k < 95 && o.frame.Trial != nil && o.frame.Trial.Verdict == "":
		o.interrupt("Ctrl-C")
	}
}

// interrupt ends a trial by a signal. The trial powers on its machines at once, except
// for busy ones and those that the operator switches off by hand while it ends.
func (o *operator) interrupt(signal string) {
	p := o.a.p
	o.x.w.tell(p.name, "%s", signal)
	var off []string
	for n, m := range o.frame.Power {
		ours := o.trial != nil && !o.ending && (p.askedAfter(power.ActionOff, n, o.began) || p.askedAfter(power.ActionShutdown, n, o.began))
		if ours && slices.Contains(o.trial.nodes, n) && !slices.Contains(o.byHand, n) && m.LeftOff && m.Busy == "" {
			off = append(off, n)
		}
	}
	slices.Sort(off)
	o.promises = append(o.promises, promise{at: time.Now(), stood: p.stood(), nodes: off, what: signal, within: askedWithin, powersOn: true})
	o.ending = true
	o.s.Send(view.End{Why: "by a signal"})
}

// start starts a trial.
func (o *operator) start(p *outage, opt trial.RunOptions) {
	o.x.w.tell(o.a.p.name, "runs a trial with %v, which asks no questions", p.nodes)
	o.a.p.agree(p.nodes...)
	o.trial, o.began, o.ending, o.absent = p, time.Now(), false, opt.End
	o.byHand = nil
	if o.frame != nil {
		for n, m := range o.frame.Power {
			if m.Busy != "" {
				o.byHand = append(o.byHand, n)
			}
		}
	}
	o.trials.Start(p.plan, opt)
}

// pick returns n of the list, sorted.
func pick(from []string, n int, r *rand.Rand) []string {
	from = slices.Clone(from)
	r.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	from = from[:min(n, len(from))]
	slices.Sort(from)
	return from
}

// answer answers a question, mostly with yes.
func (o *operator) answer(q *view.Question, r *rand.Rand) {
	i := 0
	if len(q.Choices) > 1 && chance(r, 85) {
		i = 1
		if q.Kind == view.QuestionQuit {
			i = r.IntN(len(q.Choices))
		}
	}
	if len(q.Choices) == 0 {
		return
	}
	choice := q.Choices[i]
	o.x.w.tell(o.a.p.name, "answers %q with %q", q.Title, choice.Label)
	if i > 0 && !q.Refused && choice.ID != "leave" && choice.ID != "undo" {
		nodes := o.nodesIn(q)
		o.a.p.agree(nodes...)
		var off []string
		for _, n := range nodes {
			if q.Kind == view.QuestionSwitch || o.frame.Power[n].LeftOff {
				off = append(off, n)
			}
		}
		o.promises = append(o.promises, promise{at: time.Now(), stood: o.a.p.stood(), nodes: off, what: choice.Label, within: visibleWithin})
	}
	o.ending = o.ending || i > 0 && q.Kind == view.QuestionTrial
	o.s.Send(view.Answer{Question: q.ID, Choice: choice.ID, Typed: q.Type})
}

// nodesIn returns the nodes that a question is about.
func (o *operator) nodesIn(q *view.Question) (nodes []string) {
	text := q.Title
	for _, l := range q.Lines {
		if q.Kind == view.QuestionSwitch && !l.Subject {
			continue // it may name other nodes
		}
		if l.Heading && (strings.HasPrefix(l.Text, "lightsout leaves these off") || l.Text == "Also:") {
			break // nothing is done about those
		}
		if !strings.Contains(l.Text, "would leave") {
			text += " " + l.Text
		}
	}
	all := words(text)
	for _, n := range o.x.w.workers() {
		if slices.Contains(all, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,?:.;()", r) })
}
