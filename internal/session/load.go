package session

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// loads starts and stops requests, and reports their results on the timeline.
type loads struct {
	*loop
	// steady is the run of the hold or rate that was started last.
	steady int
	// agreed: the operator has agreed to send requests.
	agreed bool

	results  int   // how many of the generator's results have been on the timeline
	replaced []int // the runs that were changed: the timeline does not report their end
}

// busy reports whether requests are sent or under way.
func (l *loads) busy() bool {
	if l.opt.Load == nil {
		return false
	}
	run := l.opt.Load.Run()
	return run.Active || run.Totals.InFlight() > 0
}

// start starts requests; number is how the generator counts its runs.
func (l *loads) start(spec loadgen.Spec) (number int, started time.Time, err error) {
	if l.opt.Load == nil {
		return 0, started, errors.New(cmp.Or(l.opt.NoLoad, "no load can be sent: set load.url in lightsout.yaml"))
	}
	started = l.now()
	before := l.opt.Load.Run()
	if number, err = l.opt.Load.Begin(spec); err != nil {
		return 0, started, err
	}
	e := view.NewEvent(view.CodeLoadStarted, "load", view.Facts{Name: spec.Text()})
	if before.Active && before.Spec.Shape == spec.Shape && spec.Shape != loadgen.Burst {
		e = view.Event{Code: view.CodeLoadChanged, Lane: view.LaneLoad, Subject: "load", From: before.Spec.Size(), To: spec.Size(), Facts: view.Facts{Name: string(spec.Shape)}}
		l.replaced = append(l.replaced, l.steady)
	}
	if spec.Shape != loadgen.Burst {
		l.steady = number
	}
	e.At = started
	l.say(e)
	return number, started, nil
}

// ask starts the load, after a question if one is due.
func (l *loads) ask(i view.StartLoad) {
	if !l.asksFirst(i) {
		l.begun(i.Spec)
		return
	}
	if l.opt.Questions.first() != nil {
		return
	}
	l.opt.Questions.ask(l.question(i.Spec), func(a view.Answer) {
		if a.Choice == view.ChoiceYes {
			l.agreed = true
			l.begun(i.Spec)
		}
	})
}

// asksFirst reports whether the session asks before it sends requests. It does not if
// there is no one to ask, or if the load becomes smaller.
func (l *loads) asksFirst(i view.StartLoad) bool {
	if l.opt.Load == nil {
		return false
	}
	run, spec := l.opt.Load.Run(), i.Spec
	if run.Active && run.Spec.Shape == spec.Shape && spec.Shape != loadgen.Burst && spec.N <= run.Spec.N && spec.PerSecond <= run.Spec.PerSecond {
		return false
	}
	return l.opt.Production || i.Ask && !l.agreed
}

// question asks for permission to send requests.
func (l *loads) question(spec loadgen.Spec) view.Question {
	to := l.opt.Load.Run().URL
	q := view.Question{Kind: view.QuestionLoad, Title: "Send requests to " + cmp.Or(to, l.opt.Cluster) + "?",
		Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Send nothing"}, {ID: view.ChoiceYes, Label: "Send"}}}
	what := "lightsout sends a " + spec.Text() + "."
	switch spec.Shape {
	case loadgen.Hold:
		what = fmt.Sprintf("lightsout keeps %s in flight until you stop it.", text.Count(spec.N, "request", "requests"))
	case loadgen.Rate:
		what = fmt.Sprintf("lightsout sends requests at a rate of %g a second until you stop it.", spec.PerSecond)
	}
	q.Lines = append(q.Lines, view.Line{Text: what}, view.Line{Text: "Press c to stop sending, and c again to cancel the requests in flight."})
	if l.opt.Production {
		q.Lines = append(q.Lines, view.Line{Level: view.Warning, Text: l.opt.Cluster + " is a production cluster: lightsout asks before each load."})
	} else {
		q.Lines = append(q.Lines, view.Line{Text: "lightsout asks this once in a session."})
	}
	return q
}

// begun starts a load of the operator.
func (l *loads) begun(spec loadgen.Spec) {
	number, started, err := l.start(spec)
	if err != nil {
		l.warn(view.LaneLoad, "load", err.Error())
		return
	}
	l.guest.Handle(LoadStarted{number, spec, started})
}

func (l *loads) stop(i view.StopLoad) {
	if l.opt.Load == nil {
		return
	}
	l.opt.Load.Stop(i.Cancel)
	l.guest.Handle(Did{i})
	code := view.CodeLoadStopping
	if i.Cancel {
		code = view.CodeLoadCancelled
	}
	l.say(view.NewEvent(code, "load", view.Facts{}))
}

// atRest reports whether the load of that number starts no more requests and has
// none in flight.
func (l *loads) atRest(number int) bool {
	if r := l.opt.Load.Run(); r.Active && l.steady == number {
		return false
	}
	return l.opt.Load.Result(number).Totals.InFlight() == 0
}

// sayResult reports the results of the runs that have ended, each once.
func (l *loads) sayResult() {
	if l.opt.Load == nil {
		return
	}
	for _, r := range l.opt.Load.Ended(l.results) {
		l.results++
		if !slices.Contains(l.replaced, r.Number) {
			l.sayEnd(r)
		}
	}
}

// sayEnd reports the result of a run on the timeline.
func (l *loads) sayEnd(r *loadgen.Result) {
	n := r.Totals.Counts()
	e := view.NewEvent(view.CodeLoadEnded, "load", view.Facts{Name: r.Spec.Text(), Counts: &n, Reported: r.Text()})
	e.At = r.Ended
	if n.Failed > 0 {
		e.Level = view.Bad
	}
	l.say(e)
}
