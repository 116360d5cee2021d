package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"lightsout/internal/text"
	"lightsout/internal/view"
)

// Surroundings returns the other scopes that the screen could show. It is safe for
// concurrent use.
type Surroundings interface {
	// Scopes gives the names that are known.
	Scopes(ctx context.Context) view.Scopes
	// Check returns the reason why the screen cannot show a scope; nil if it can, as
	// far as lightsout can tell without asking the cluster.
	Check(p view.Scope) error
	// Command is the command that shows a scope beside this session.
	Command(p view.Scope) string
}

// moving leads to another scope.
type moving struct {
	*loop
	leaving *leaving

	known *view.Scopes // nil until found
	next  *view.Scope  // where the operator goes when this session has ended
}

// begin finds the available scopes, and reports watched namespaces that do not exist.
func (m *moving) begin() {
	if m.opt.Around == nil {
		return
	}
	async(m.loop, apiTimeout, m.opt.Around.Scopes, func(p view.Scopes) {
		m.known = &p
		for ns := range strings.SplitSeq(m.opt.Namespaces, ",") {
			if ns != "" && len(p.Namespaces) > 0 && !slices.Contains(p.Namespaces, ns) {
				m.warn(view.LaneOperator, "lightsout", "The namespace "+ns+" does not exist yet, so it shows nothing (:ns watches others)")
			}
		}
	})
}

// ask asks the operator whether to end the session and show another scope, or reports
// why that is impossible now.
func (m *moving) ask(i view.SwitchScope) {
	what := "Namespaces stay: "
	if i.Context != "" {
		what = "Context stays: "
	}
	refuse := func(why string) { m.warn(view.LaneOperator, "lightsout", what+why) }
	if m.opt.Around == nil {
		refuse("there is no other cluster here")
		return
	}
	held := func() bool {
		why := m.held(i.Scope)
		command := m.opt.Around.Command(i.Scope)
		if why != "" && m.opt.Questions.first() != nil {
			refuse(why + "; in another terminal: " + command)
		} else if why != "" {
			m.opt.Questions.ask(view.Question{Kind: view.QuestionMove, Title: what + why, Refused: true, Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Close"}},
				Lines: []view.Line{{Text: "In another terminal:"}, {Text: command, Command: command}}}, func(view.Answer) {})
		}
		return why != ""
	}
	check := func(context.Context) error { return m.opt.Around.Check(i.Scope) }
	async(m.loop, apiTimeout, check, func(err error) {
		switch {
		case err != nil:
			refuse(err.Error())
		case !held():
			m.opt.Questions.ask(m.question(i.Scope), func(a view.Answer) {
				if a.Choice == view.ChoiceYes && !held() {
					m.next = &i.Scope
					m.departure.to(gone)
				}
			})
		}
	})
}

// question asks whether to show another scope, and lists what ends.
func (m *moving) question(to view.Scope) view.Question {
	title, yes := "Go to context "+to.Context+"?", "Go there"
	if to.Context == "" {
		title, yes = "Watch "+cmp.Or(text.List(to.Namespaces), "all namespaces")+" from now on?", "Watch"
	}
	q := view.Question{Kind: view.QuestionMove, Title: title, Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Stay here"}, {ID: view.ChoiceYes, Label: yes}}}
	q.Lines = append(q.Lines, view.Line{Text: "This session ends and another begins: timeline, chart and marks start empty."})
	q.Lines = append(q.Lines, m.leaving.machines.lines("These stay off, and o powers them on from there:")...)
	q.Lines = append(q.Lines, m.leaving.cordons.lines("These stay cordoned, until :uncordon:")...)
	if m.leaving.loads.busy() {
		run := m.opt.Load.Run()
		q.Lines = append(q.Lines, view.Line{Level: view.Warning, Text: fmt.Sprintf("Sending stops, and %s in flight are cancelled.", text.Count(run.Totals.InFlight(), "request", "requests"))})
	}
	return q
}

// held returns the unfinished work that the session would leave behind; empty if there is none. The
// session of other namespaces of the cluster reads the same journal: machines that are off, and nodes
// that are cordoned, are its own.
func (m *moving) held(to view.Scope) string {
	m.leaving.readJournal()
	off, cordoned := m.leaving.machines.own(), m.leaving.cordons.open()
	switch {
	case m.guest.Running():
		return "a trial is under way: t ends it"
	case m.leaving.busy() || len(m.leaving.machines.booting())+len(m.leaving.drains.running) > 0:
		return "machines are being switched, or nodes boot, or are cordoned or drained from here"
	case len(off) > 0 && to.Context != "":
		return m.leaving.machines.stillOff(off) + " (o powers on)"
	case len(cordoned) > 0 && to.Context != "":
		return text.List(cordoned) + " " + text.Noun(len(cordoned), "is", "are") + " cordoned from here; :uncordon ends that"
	case m.opt.Questions.first() != nil:
		return "a question is open"
	}
	return ""
}
