package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lightsout/internal/record"
	"lightsout/internal/recorder"
	"lightsout/internal/report"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// pathMost is the longest path that a list shows, in bytes (PATH_MAX of Linux).
const pathMost = 4096

// whatMost is the most cells for what a record is about, which may name many nodes.
const whatMost = 60

func newRecordsCommand(o *options) *cobra.Command {
	var as *string
	cmd := &cobra.Command{
		Use:   "records",
		Short: "List the records of trials and of outages",
		Args:  takes(0, 0, ""),
		RunE:  func(cmd *cobra.Command, _ []string) error { return listRecords(*o, *as, cmd.OutOrStdout()) },
	}
	as = formatFlag(cmd, formatTable, formatJSON)
	o.clusterFlags(cmd)
	return cmd
}

// listRecords prints the records in the state folder, the newest first.
func listRecords(o options, as string, out io.Writer) error {
	cfg, err := o.Read()
	if err != nil {
		return err
	}
	state, err := cfg.StateDir()
	if err != nil {
		return err
	}
	if _, err := os.Stat(state); err != nil && cfg.State != "" {
		return fmt.Errorf("there are no records: %w", err)
	}
	all := recordLines(state)
	slices.SortStableFunc(all, func(a, b view.RecordLine) int { return b.At.Compare(a.At) })
	if as == formatJSON {
		return writeJSON(out, append([]recordRow{}, text.Each(all, func(k view.RecordLine) recordRow {
			return recordRow{k.At, k.What, k.Took.Seconds(), k.Verdict, k.Path}
		})...))
	}
	if len(all) == 0 {
		fmt.Fprintln(stderr, "no records in "+state)
		return nil
	}
	rows := [][]string{{"TIME", "CLUSTER", "WHAT", "TOOK", "VERDICT", "RECORD"}}
	for _, k := range all {
		began, took := "unknown", "–"
		if !k.At.IsZero() {
			began = k.At.Local().Format(time.DateTime + " MST")
		}
		if k.Took > 0 {
			took = text.Span(k.Took)
		}
		rows = append(rows, []string{began, text.Cells(k.Cluster), text.Fit(text.Cells(k.What), whatMost, "…"), took, text.Cells(k.Verdict), text.Clean(k.Path, pathMost)})
	}
	if all[0].Cluster == "" {
		rows = text.Each(rows, func(row []string) []string { return slices.Delete(row, 1, 2) })
	}
	_, err = io.WriteString(out, strings.Join(text.Columns(rows), "\n")+"\n")
	return err
}

// recordRow is a record in JSON. What is unknown is not there.
type recordRow struct {
	At      time.Time `json:"at,omitzero"`
	What    string    `json:"what"`
	Took    float64   `json:"took_seconds,omitempty"`
	Verdict string    `json:"verdict"`
	Record  string    `json:"record"`
}

// recordLines lists the records of trials and outages below a state folder, the newest
// first.
func recordLines(state string) []view.RecordLine {
	all := text.Each(recordDirs(state), recordIn)
	if !slices.ContainsFunc(all, func(k view.RecordLine) bool { return k.Cluster != all[0].Cluster }) {
		all = text.Each(all, func(k view.RecordLine) view.RecordLine { k.Cluster = ""; return k })
	}
	return all
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
func recordIn(dir string) view.RecordLine {
	base, _, _ := strings.Cut(filepath.Base(dir), "-")
	at, _ := time.Parse("20060102T150405Z", base) // a folder of another name is the oldest
	k := view.RecordLine{At: at, What: "trial", Verdict: "cut short", Path: dir, Cluster: filepath.Base(filepath.Dir(filepath.Dir(dir)))}
	ofOutage := filepath.Base(filepath.Dir(dir)) == recorder.Folder
	if ofOutage {
		k.What = "outage"
	}
	s, err := record.Summarized(os.DirFS(dir))
	switch {
	case err != nil:
		k.Verdict = "unreadable"
	case s != nil && s.Unplanned != nil:
		k.Verdict, k.Took = string(s.Unplanned.Severity), s.Ended.Sub(s.Zero)
		for _, x := range s.Unplanned.Signs {
			k.What = withName(k.What, x.Kind.Named(x.Subject))
		}
	case s == nil:
		unfinished(&k, ofOutage)
	default:
		k.What += " " + text.Clean(s.Name, 60)
		k.Verdict, k.Took = string(s.Verdict), s.Ended.Sub(s.Started)
	}
	return k
}

// unfinished describes a record without a summary: one that is being written, or of a
// program that was killed.
func unfinished(k *view.RecordLine, ofOutage bool) {
	r, err := record.Open(k.Path)
	if err != nil {
		k.Verdict = "unreadable"
		return
	}
	if ofOutage {
		k.Verdict = "breaks off"
		for _, e := range report.SignsIn(r) {
			k.What = withName(k.What, e.Subject)
		}
		k.Took = r.End.Sub(r.Zero)
	}
	if r.Recording {
		k.Verdict = "recording"
	}
}

// withName appends a name to a text that lacks it.
func withName(list, name string) string {
	if name = text.Clean(name, 60); name == "" || strings.Contains(list, name) {
		return list
	}
	return list + " " + name
}
