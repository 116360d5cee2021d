package cli

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// timeline is what the timeline of a record contains about its trial.
type timeline struct {
	verdict *view.Verdict     // nil: none
	begun   map[int]time.Time // when each step began, by its number from 1
	failed  int               // steps that failed
}

// readTimeline reads the timeline of a record, which may lack one.
func readTimeline(folder fs.FS) (t timeline, err error) {
	t.begun = map[int]time.Time{}
	_, err = record.EachEvent(folder, func(e view.Event) {
		switch e.Code {
		case view.CodeTrialVerdict:
			t.verdict = &e.Verdict
		case view.CodeTrialStep:
			t.begun[e.N] = e.At
		case view.CodeTrialStepFailed:
			t.failed++
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return t, err
}

// verdict compares verdict and steps with the timeline, and the verdict with the number of
// expectations.
func (v *verification) verdict(s *record.Summary) {
	if empty := len(s.Expectations) == 0; s.Verdict == view.NoExpectations && !empty || s.Verdict == view.Pass && empty {
		v.differ("the verdict is %q, with %s", s.Verdict, text.Count(len(s.Expectations), "expectation", "expectations"))
	}
	if !slices.Contains(view.Verdicts, s.Verdict) {
		v.differ("%q is not a verdict", s.Verdict)
	}
	t, err := readTimeline(v.folder)
	switch {
	case err != nil:
		v.differ("the timeline can't be read, so verdict and steps can't be compared: %v", err)
		return
	case t.verdict == nil:
		v.unchecked = append(v.unchecked, "the verdict and the steps: the timeline has no verdict")
		return
	case *t.verdict != s.Verdict:
		v.differ("the verdict is %q, but %q on the timeline (%s)", s.Verdict, *t.verdict, record.EventsFile)
	}
	if len(t.begun) == 0 && len(s.Steps) > 0 { // a trial by keyboard, whose steps are what the operator did
		v.unchecked = append(v.unchecked, "the steps: the timeline has none")
		return
	}
	v.steps(s, t)
}

// stepSlack is how long after the beginning of a step its event may be on the timeline.
const stepSlack = time.Second

// steps compares the steps of the plan with the timeline, and their times with each other.
func (v *verification) steps(s *record.Summary, t timeline) {
	failed := 0
	var before time.Time
	for i, st := range s.Steps {
		at, begun := t.begun[i+1]
		if st.State == view.StepSkipped && st.Started.IsZero() {
			continue // the operator may have put it back: lightsout asked, and the answer was no
		}
		if begun == st.Started.IsZero() || begun != (st.State != view.StepToCome && st.State != view.StepSkipped) {
			v.differ("step %q is %q and started at %s, but the timeline has its beginning: %v", st.Name, st.State, clockOf(st.Started), begun)
		}
		if begun && at.Sub(st.Started).Abs() > stepSlack {
			v.differInTime(at.Sub(st.Started).Abs() <= stepSlack+v.clockSet(), "step %q started at %s, but at %s on the timeline", st.Name, clockOf(st.Started), clockOf(at))
		}
		if begun && !st.Ended.IsZero() && (st.Ended.Before(st.Started) || st.Started.Before(before)) {
			v.differInTime(true, "step %q has the times %s and %s, which do not follow those of the step before", st.Name, clockOf(st.Started), clockOf(st.Ended))
		}
		before = st.Ended
		if st.State == view.StepFailed {
			failed++
		}
	}
	if failed != t.failed {
		v.differ("%s failed, but %d on the timeline", text.Count(failed, "step", "steps"), t.failed)
	}
}

func clockOf(t time.Time) string { return t.UTC().Format("15:04:05.000") }
