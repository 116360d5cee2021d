package power

import "time"

// slowAfter is how long a part of the procedure takes before lightsout reports it: a
// wait must be visible within 10 s.
const slowAfter = 3 * time.Second

// judgingWaitsFor is what lightsout waits for when it judges once more.
const judgingWaitsFor = "nothing was sent yet: lightsout waits for the API server or a driver before it checks the guards again"

// slowly calls report unless done is called within slowAfter. Nothing is reported after
// done.
func slowly(report func()) (done func()) {
	reported := make(chan struct{})
	t := time.AfterFunc(slowAfter, func() {
		defer close(reported)
		report()
	})
	return func() {
		if !t.Stop() {
			<-reported
		}
	}
}

// slowly reports for each node that its action waits, and for what, unless done is called
// within slowAfter.
func (r Request) slowly(text string) (done func()) { return r.slowlyAs(StageWaiting, text) }

// slowlyAs is slowly for a stage.
func (r Request) slowlyAs(stage Stage, text string) (done func()) {
	return slowly(func() {
		for _, n := range r.Nodes {
			if r.Report != nil {
				r.Report(Progress{Action: r.Action, Node: n, Stage: stage, Text: text, At: time.Now()})
			}
		}
	})
}
