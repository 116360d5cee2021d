package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

var timelineSpec = &paneSpec{
	name: "Timeline", names: []string{"ev", "event", "events"}, place: placeLower, keys: rowKeys,
	bar:  []string{"details", "filter", "YAML", "log"},
	open: func() pane { return newTimelinePane() },
}

// timelinePane lists events, in the order in which they happened, and the next actions of
// the control plane. The newest event is visible until the operator scrolls.
type timelinePane struct {
	list[int, view.Event]
	subjects view.Subjects         // of all events, also of those that a filter hides
	folded   map[int][]*view.Event // of the rows that stand for several
}

func newTimelinePane() *timelinePane {
	p := &timelinePane{}
	p.list = list[int, view.Event]{
		id: func(e view.Event) int { return e.Seq }, object: p.event, has: p.contains, follows: true,
	}
	return p
}

func (p *timelinePane) settle(s *scene) {
	var first, last int
	if n := len(s.f.Events); n > 0 {
		first, last = s.f.Events[0].Seq, s.f.Events[n-1].Seq
	}
	if !p.stale(nil, len(s.f.Events), first, last, s.f.Zero) {
		return
	}
	p.subjects = view.SubjectsOf(s.f.Events)
	events := s.f.Events
	p.folded = nil
	if !p.by.on() {
		events, p.folded = fold(events)
	}
	events = view.InOrder(events)
	p.none = "events appear here"
	if len(events) > 0 {
		p.none = "no events"
	}
	p.take(s, events)
}

// contains reports whether a text of the row contains the searched text.
func (p *timelinePane) contains(s *scene, e view.Event, contains func(string) bool) bool {
	return contains(e.Subject) || contains(p.subjects.Name(e)) || contains(string(e.Lane)) || contains(eventText(s.t, e))
}

func (p *timelinePane) want(*scene, int) want { return want{least: 3, most: 1000, share: 3} }

// event is the whole line, with its times, and the object that it is about.
func (p *timelinePane) event(s *scene, e view.Event) object {
	subject := p.subjects.Name(e)
	at := strings.TrimSpace(s.when(e.When()))
	line := strings.Join([]string{e.At.UTC().Format(time.RFC3339), strings.TrimSpace(offsetOf(e.When(), s.f.Zero)), string(e.Lane), subject, e.Sentence()}, " ")
	folded := p.folded[e.Seq]
	return object{line, strings.TrimSpace("Event: " + subject + " " + at), func(d *details) { d.event(e, folded) }, objectOf(s, e).ref}
}

func (p *timelinePane) draw(s *scene, w, h int, active bool) drawing {
	out := drawing{title: "Timeline"}
	lead := "next: "
	next := s.next(w-width(lead)-2, h, 2*h > s.h)
	out.lines = p.events(s, w, h-len(next), active)
	for _, line := range next {
		out.lines = append(out.lines, newRow(w).space(1).put(s.t.accent, lead+line).String())
		lead = blank(width(lead))
	}
	out.sight = p.position(s)
	out.of = " and Events"
	if s.snap.Access[cluster.KindEvent].Forbidden {
		out.of, out.facts = "", "Events of Kubernetes: forbidden"
	}
	if p.by.on() && len(s.f.Events) > 0 && s.f.Events[0].Seq > 1 {
		out.facts = s.facts(out.facts, "older events: events.jsonl")
	}
	return out
}

// next gives the lines of what comes next, w wide: each sentence whole on most of the screen, otherwise in a share of h lines, with how many more there are.
func (s *scene) next(w, h int, whole bool) (out []string) {
	if whole {
		out = slices.Concat(text.Each(s.f.Next, func(sentence string) []string { return wrap(s.t.text(sentence), w) })...)
		return out[:min(len(out), h-1)]
	}
	shown, all := joined(s.f.Next, max(0, min(1+h/5, h-1)), w-13)
	for i, sentence := range shown {
		more := strings.Repeat(after(" +", some(len(s.f.Next)-all, "more"), ": 5 z"), btoi(i == len(shown)-1))
		name, rest, _ := strings.Cut(s.t.text(sentence), " ") // a long name gives way before its reason
		room := w - width(more)
		out = append(out, fit(strings.TrimSpace(middle(name, max(12, room-1-width(rest)), s.t.ellipsis)+" "+rest), room, s.t.ellipsis)+more)
	}
	return out
}

// joined puts sentences into lines, w wide: several into one only if there are more than n. It returns n lines at most,
// and how many sentences are in them.
func joined(sentences []string, n, w int) (lines []string, all int) {
	for i, sentence := range sentences {
		switch last := len(lines) - 1; {
		case last >= 0 && len(lines)+len(sentences)-i > n && width(lines[last])+width(sentence)+3 <= w:
			lines[last] += " · " + sentence
		case len(lines) == n:
			return lines, i
		default:
			lines = append(lines, sentence)
		}
	}
	return lines, len(sentences)
}

// events draws the visible rows, oldest first: time, object, text.
func (p *timelinePane) events(s *scene, w, h int, active bool) []string {
	t := s.t
	if len(p.rows) == 0 {
		p.page = 0
		return s.message(t.dim, p.empty(s), w, h)
	}
	when, lane := width(s.offset(s.now)), 12
	if w < 74 {
		lane = 0
	}
	subject := min(max(12, (w-when-lane)/4), 34)
	from, to := p.window(h, active)
	var out []string
	for i, e := range p.rows[from:to] {
		sign, st := levelStyle(t, e.Level)
		fresh, who, body := s.fresh(e.Seen), t.strong, st
		switch {
		case e.Change == cluster.ChangeEvent && e.When().By.Before(s.start): // from before the session
			fresh, who, body = false, t.dim, t.dim
		case fresh:
			body = t.strong + st
		}
		r := newRow(w).lead(t, from+i == p.at, active, p.moved).right(t, t.dim, s.when(e.When()), when)
		r.flag(fresh, t.fresh, t.changed).put(st, sign).space(1)
		name := middle(t.text(p.subjects.Name(e)), subject, t.ellipsis)
		text := t.text(brief(e.Subject, e.Sentence()))
		if lane > 0 {
			r.cell(t, t.dim, t.text(string(e.Lane)), lane-1).space(1)
			text = strings.TrimPrefix(text, string(e.Lane)+" ") // it stands beside it
			if e.Subject == string(e.Lane) {
				name = ""
			}
		}
		out = append(out, r.put(who, name).space(subject-width(name)+2).rest(t, body, text).String())
	}
	return fill(out, w, h)
}

// event shows all fields of an event, the events of a row that stands for several, and the present
// facts about its object.
func (d *details) event(e view.Event, folded []*view.Event) {
	s := d.s
	_, st := levelStyle(s.t, e.Level)
	d.addStyled(st, "event", eventText(s.t, e))
	if len(folded) == 0 || isCount(e) {
		d.add("object", strings.TrimSpace(e.Kind+" "+e.Subject))
	}
	d.add("namespace", e.Namespace)
	d.add("lane", string(e.Lane))
	if !s.f.Zero.IsZero() {
		d.add("offset", offsetOf(e.When(), s.f.Zero))
	}
	d.time("happened", e.At)
	if late := e.Seen.Sub(e.When().By); late >= 100*time.Millisecond {
		d.add("seen", fmt.Sprintf("%.1f s later", late.Seconds()))
	}
	d.add("from", e.From)
	d.add("to", e.To)
	d.add("why", e.Why)
	if len(folded) > 0 {
		d.head("Each of them")
	}
	for _, x := range folded {
		who, what, why := cluster.Key{Namespace: x.Namespace, Name: x.Subject}.String(), brief(x.Subject, x.Sentence()), x.Why
		if !isCount(e) && what == brief(e.Subject, e.Sentence()) {
			what = ""
		}
		if strings.Contains(what, why) {
			why = ""
		}
		d.add(s.when(x.When()), s.facts(who, what, why))
	}
	if o := objectOf(s, e); o.facts != nil {
		d.put(fact{})
		o.facts(d)
	}
}

// about reports whether an event's subject has the key of an object. Nodes are in no
// namespace; of any other event without a namespace, the name alone may decide.
func about(e view.Event, k cluster.Key) bool {
	if e.Namespace != "" || e.Kind == string(cluster.KindNode) {
		return k == cluster.Key{Namespace: e.Namespace, Name: e.Subject}
	}
	return k.Name == e.Subject || k.String() == e.Subject
}

// objectOf gives the node, deployment or pod that an event names; nothing where
// it names none that is still there. An event about the endpoints of a service leads to
// the deployment of the same name.
func objectOf(s *scene, e view.Event) object {
	is := func(kinds ...cluster.Kind) bool { return e.Kind == "" || slices.Contains(kinds, cluster.Kind(e.Kind)) }
	if is(cluster.KindNode) && s.snap.Node(e.Subject) != nil {
		return nodeObject(e.Subject)
	}
	if is(cluster.KindDeployment, cluster.KindEndpointSlice) {
		deployments := s.snap.Deployments()
		if i := slices.IndexFunc(deployments, func(d *cluster.Deployment) bool { return about(e, d.Key) }); i >= 0 {
			return deploymentObject(deployments[i].Key)
		}
	}
	if e.Kind == string(cluster.KindPod) { // only when the details are opened
		pods := s.snap.Pods()
		if i := slices.IndexFunc(pods, func(p *cluster.Pod) bool { return about(e, p.Key) }); i >= 0 {
			return podObject(pods[i].Key)
		}
	}
	return object{}
}

// eventText is an event's sentence in the theme's characters.
func eventText(t *theme, e view.Event) string { return t.text(e.Sentence()) }

func levelStyle(t *theme, l view.Level) (string, style) {
	switch l {
	case view.Good:
		return t.okSign, t.good
	case view.Warning:
		return t.warnSign, t.warn
	case view.Bad:
		return t.badSign, t.bad
	}
	return " ", ""
}
