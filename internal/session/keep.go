package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
)

// noteSettings keeps the timings in force as far as they are known by now.
func (e *Engine) noteSettings(s *cluster.Snapshot) {
	r := e.run
	if r == nil || s == nil {
		return
	}
	r.settings = nil
	for _, l := range s.SettingsList(r.deployment) {
		r.settings = append(r.settings, record.Setting{Name: l.Name, Value: l.Value, Source: l.Source})
	}
}

// closeRecord writes what a trial's folder ends with. A failure is told and
// kept in the frame; what was written before stays.
func (e *Engine) closeRecord(r *run) {
	var errs []error
	if r.plan == nil {
		p := &plan.Plan{Name: r.name, Deployment: r.summary.Deployment}
		for _, st := range r.steps {
			p.Steps = append(p.Steps, st.Step)
		}
		errs = append(errs, os.WriteFile(filepath.Join(r.dir, record.PlanFile), p.Marshal(), 0o600))
	}
	e.publish() // the last frame has the verdict
	errs = append(errs, r.sampler.Close(e.last), r.requests.Close(), e.timeline.Untee())
	errs = append(errs, r.summary.Write(r.dir))
	if err := errors.Join(errs...); err != nil {
		e.warn(view.LaneOperator, "trial", "the record is not complete: "+err.Error())
	}
	dir := r.dir
	e.goDo(func() {
		if err := writeReports(dir); err != nil {
			e.mail.post(func() { e.warn(view.LaneOperator, "trial", "the reports can't be written: "+err.Error()) })
		}
	})
}

// writeReports makes report.md and report.html from the record in dir.
func writeReports(dir string) error {
	rec, err := record.Open(dir)
	if err != nil {
		return err
	}
	md, err := os.OpenFile(filepath.Join(dir, record.ReportFile), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer md.Close()
	html, err := os.OpenFile(filepath.Join(dir, record.HTMLFile), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer html.Close()
	if err := errors.Join(report.Markdown(md, rec), report.HTML(html, rec)); err != nil {
		return fmt.Errorf("the reports of %s: %w", dir, err)
	}
	return nil
}
