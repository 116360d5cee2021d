package cli

import (
	"path/filepath"
	"time"

	"lightsout/internal/recorder"
	"lightsout/internal/session"
	"lightsout/internal/trial"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// guests are the guests of a screen's session: the trials, and the recorder of outages
// without a trial. One outage goes into one record: a trial ends the record of the recorder, and has
// the rest (Begin); while it runs, the recorder begins no other (recorder.Options).
type guests struct {
	*trial.Runner
	outages *recorder.Recorder
}

// newGuests makes the trials, and the recorder if the screen is to have one.
func (a *app) newGuests(opt session.Options, trials trial.Options) {
	trials.Claim, trials.Begin = a.machines.fleet.LockTrial, func() {
		if a.outages != nil {
			a.outages.Yield()
		}
	}
	a.trials = trial.NewRunner(a.session.Controls(), trials)
	a.guest = a.trials
	if a.opt.unprompted {
		a.outages = a.newOutages(opt)
		a.guest = guests{a.trials, a.outages}
	}
}

// newOutages makes the recorder of the screen.
func (a *app) newOutages(opt session.Options) *recorder.Recorder {
	set, c, dir := a.config.Recording(), a.session.Controls(), filepath.Join(a.kept, recorder.Folder)
	say := func(line string) {
		c.Notify(view.NewEvent(view.CodeOutageSummary, "outage", view.Facts{Reported: line}))
	}
	if unlock, err := recorder.Lock(dir); err == nil { // else another program has it
		for _, sentence := range recorder.Interrupted(dir) {
			say(sentence)
		}
		unlock()
	}
	return recorder.New(c, recorder.Options{
		Cluster: opt.Cluster, Pace: opt.Pace, Dir: dir, Timeline: a.writer.Timeline(), Load: a.load,
		Past: set.Past, PastBytes: set.MemoryMB << 20, Steady: set.Steady, KeepBytes: int64(set.KeepMB) << 20,
		Print: say, Trial: a.trials.Running, Restore: opt.Restore, Names: a.names, Now: time.Now,
	})
}

func (g guests) Record(q loadgen.Record) bool {
	g.outages.Record(q)
	return g.Runner.Record(q)
}

func (g guests) Handle(e session.Event) {
	g.Runner.Handle(e)
	g.outages.Handle(e)
}

func (g guests) Show(f *view.Frame) {
	g.Runner.Show(f)
	g.outages.Show(f)
}

func (g guests) End() {
	g.Runner.End()
	g.outages.End()
}
