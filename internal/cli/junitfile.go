package cli

import (
	"encoding/json"
	"errors"
	"os"

	"lightsout/internal/record"
	"lightsout/internal/report"
)

// junitFile is the file with the expectations of all runs of a trial.
type junitFile struct {
	path   string
	redact bool
	runs   []report.Run
}

// add writes the file with one more run; names are replaced. sum is nil if the run did not
// begin, and problem is why it proves nothing, without names.
func (f *junitFile) add(name string, sum *record.Summary, problem string, names *record.Names) error {
	switch {
	case f.redact && names == nil && len(f.runs) > 0:
		name = f.runs[0].Name
	case f.redact && names == nil: // nobody knows the names yet
		name = "trial"
	}
	run := report.Run{Name: names.Text(name), Problem: problem}
	if sum != nil {
		b, err := json.Marshal(sum)
		if err != nil {
			return err
		}
		run.Summary = &record.Summary{}
		if err := json.Unmarshal(names.JSON(b), run.Summary); err != nil {
			return err
		}
	}
	f.runs = append(f.runs, run)
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(report.JUnit(file, f.runs...), file.Close())
}

// note adds a run to the JUnit file, if there is one; proven is why its record does not prove
// the verdict.
func (f *trialFlags) note(sum *record.Summary, proven error, names *record.Names) error {
	switch {
	case f.expectations == nil:
		return nil
	case proven == nil:
		return f.expectations.add(sum.Name, sum, "", names)
	case names != nil: // the error may have any name
		return f.expectations.add(sum.Name, sum, notProven, names)
	}
	return f.expectations.add(sum.Name, sum, proven.Error(), names)
}
