package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lightsout/internal/record"
	"lightsout/internal/recorder"
	"lightsout/internal/text"
)

func newRecordsCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "records",
		Short: "List the records of trials and of outages",
		Args:  takes(0, 0, ""),
		RunE:  func(cmd *cobra.Command, _ []string) error { return listRecords(*o, cmd.OutOrStdout()) },
	}
	o.clusterFlags(cmd)
	return cmd
}

// recordRow is a line of the list of records.
type recordRow struct {
	at            time.Time
	what          string
	took          time.Duration // 0: unknown
	verdict, path string
}

// listRecords prints the records in the state folder, the newest first, and the
// machines that lightsout switched off while a recorder was watching.
func listRecords(o options, out io.Writer) error {
	cfg, err := whileReading(o.Read)
	if err != nil {
		return err
	}
	state, err := cfg.StateDir()
	if err != nil {
		return err
	}
	var all []recordRow
	for _, dir := range recordDirs(state) {
		all = append(all, recordIn(dir))
	}
	plans, _ := filepath.Glob(filepath.Join(state, "*", recorder.Folder, recorder.PlannedFile)) // its only error is a wrong pattern
	for _, path := range plans {
		planned, err := plannedIn(path)
		if err != nil {
			return err
		}
		all = append(all, planned...)
	}
	slices.SortStableFunc(all, func(a, b recordRow) int { return b.at.Compare(a.at) })
	var b strings.Builder
	fmt.Fprintf(&b, "%-19s  %-28s  %8s  %-12s  %s\n", "TIME", "WHAT", "TOOK", "VERDICT", "RECORD")
	for _, k := range all {
		took := "–"
		if k.took > 0 {
			took = text.Span(k.took)
		}
		fmt.Fprintf(&b, "%-19s  %-28s  %8s  %-12s  %s\n", k.at.Local().Format(time.DateTime), text.Fit(k.what, 28, "…"), took, k.verdict, k.path)
	}
	_, err = io.WriteString(out, b.String())
	return err
}

// recordDirs lists the folders of the records of trials and outages below a state folder.
func recordDirs(state string) (dirs []string) {
	for _, of := range []string{"trials", recorder.Folder} {
		some, _ := filepath.Glob(filepath.Join(state, "*", of, "2*")) // its only error is a wrong pattern
		dirs = append(dirs, some...)
	}
	slices.SortFunc(dirs, func(a, b string) int { return strings.Compare(filepath.Base(b), filepath.Base(a)) })
	return dirs
}

// recordIn is the line of a record.
func recordIn(dir string) recordRow {
	base, _, _ := strings.Cut(filepath.Base(dir), "-")
	at, _ := time.Parse("20060102T150405Z", base) // a folder of another name is the oldest
	k := recordRow{at: at, what: "trial", verdict: "no summary", path: dir}
	if filepath.Base(filepath.Dir(dir)) == recorder.Folder {
		k.what = "outage"
	}
	s, err := record.Summarized(os.DirFS(dir))
	switch {
	case err != nil:
		k.verdict = "unreadable"
	case s != nil && s.Unplanned != nil:
		k.verdict, k.took = string(s.Unplanned.Severity), s.Ended.Sub(s.Zero)
		for _, x := range s.Unplanned.Signs {
			if name := text.Clean(x.Subject, 60); name != "" && !strings.Contains(k.what, name) {
				k.what += " " + name
			}
		}
	case s != nil:
		k.what += " " + text.Clean(s.Name, 60)
		k.verdict, k.took = string(s.Verdict), s.Ended.Sub(s.Started)
	}
	return k
}

// plannedIn reads which machines the plan switched off.
func plannedIn(path string) (out []recordRow, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		var p recorder.Planned
		if json.Unmarshal(lines.Bytes(), &p) == nil { // otherwise torn
			out = append(out, recordRow{at: p.At, what: "planned: " + text.Clean(p.Node, 60), verdict: "by plan", path: "switched off by " + text.Clean(p.By, 100)})
		}
	}
	return out, err
}
