package cli

import (
	"encoding/json"
	"errors"
	"os"

	"lightsout/internal/record"
	"lightsout/internal/report"
)

// writeJUnit writes the file of a trial's expectations, with names replaced; an empty path writes
// none. sum is nil if the trial did not begin, and problem is why it proves nothing.
func writeJUnit(path, name string, sum *record.Summary, problem string, names *record.Names) error {
	if path == "" {
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
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(report.JUnit(file, report.Run{Name: names.Text(name), Problem: names.Text(problem), Summary: sum}), file.Close())
}
