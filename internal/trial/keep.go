package trial

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
)

// openRecord makes the trial's folder and begins to write into it.
func (r *run) openRecord() error {
	var err error
	r.dir = r.opt.Dir
	if r.dir == "" {
		r.dir, err = record.NewSessionDir(r.t.opt.Dir, r.started)
	} else {
		err = record.NewTrialDir(r.dir)
	}
	if err == nil && r.plan != nil {
		err = r.keepPlan(r.plan.Text)
	}
	if err != nil {
		return err
	}
	r.requests, err = record.NewRequests(filepath.Join(r.dir, record.RequestsFile))
	if err != nil {
		return err
	}
	r.requests.Redact(r.t.opt.Names)
	if err := r.t.opt.Timeline.Tee(filepath.Join(r.dir, record.EventsFile)); err != nil {
		return err
	}
	r.sampler, err = record.NewSampler(r.dir, r.t.opt.Now, r.t.opt.Names)
	return err
}

// keepPlan writes the plan's file.
func (r *run) keepPlan(text []byte) error {
	return os.WriteFile(filepath.Join(r.dir, record.PlanFile), []byte(r.t.opt.Names.Text(string(text))), 0o600)
}

// closeRecord writes the last files of a trial's folder. The frame shows and keeps a
// failure; files written before it stay.
func (r *run) closeRecord() {
	var errs []error
	if r.plan == nil { // what the operator did becomes one
		p := plan.Plan{Name: r.name, Deployment: r.summary.Deployment}
		p.Steps = text.Each(r.steps, func(st *stepRun) plan.Step { return st.Step })
		errs = append(errs, r.keepPlan(p.Marshal()))
	}
	last := r.s.Publish() // it has the verdict
	errs = append(errs, r.sampler.Close(last), r.requests.Close(), r.summary.Write(r.dir, r.t.opt.Names))
	errs = append(errs, r.t.opt.Timeline.Untee()) // from here on nobody writes the record
	if err := errors.Join(errs...); err != nil {
		r.s.Warn(view.LaneOperator, "trial", "the record is not complete: "+err.Error())
	}
	r.s.Async(report.Within, func(context.Context) error {
		_, err := report.Write(r.dir)
		return err
	}, func(err error) {
		if err != nil {
			r.s.Warn(view.LaneOperator, "trial", "the reports can't be written: "+err.Error())
			return
		}
		r.s.Notify(view.NewEvent(view.CodeReportWritten, "trial", view.Facts{Reported: filepath.Join(r.dir, record.HTMLFile)}))
	})
}
