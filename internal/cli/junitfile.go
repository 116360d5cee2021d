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
	path string
	runs []report.Run
}

// add writes the file with one more run; names are replaced. sum is nil if the run did not begin, and
// problem is why it proves nothing.
func (f *junitFile) add(name string, sum *record.Summary, problem string, names *record.Names) error {
	if f == nil {
		return nil
	}
	if names != nil && sum != nil {
		b, err := json.Marshal(sum)
		if err != nil {
			return err
		}
		sum = &record.Summary{}
		if err := json.Unmarshal(names.JSON(b), sum); err != nil {
			return err
		}
	}
	f.runs = append(f.runs, report.Run{Name: names.Text(name), Problem: names.Text(problem), Summary: sum})
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(report.JUnit(file, f.runs...), file.Close())
}
