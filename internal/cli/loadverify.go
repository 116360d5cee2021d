package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/power"
)

func newLoadVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR",
		Short: "Recompute every total of a record and compare it with its summary",
		Args:  takes(1, 1, "record"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return verifyLoad(args[0], cmd.OutOrStdout())
		},
	}
}

// claims holds one summary of either kind; both fields are nil without a summary.
type claims struct {
	load  *loadSummary
	trial *record.Summary
}

// readClaims reads the summary strictly. The error describes the fault in it.
func readClaims(folder fs.FS) (c claims, err error) {
	data, err := whileReading("the record", func() ([]byte, error) { return record.ReadSmall(folder, record.SummaryFile) })
	if err != nil || data == nil {
		return c, err
	}
	var kind struct {
		Kind    string          `json:"kind"`
		Version int             `json:"version"`
		Ledger  json.RawMessage `json:"ledger"`
	}
	if err := json.Unmarshal(data, &kind); err != nil {
		return c, fmt.Errorf("%s is not a summary: %w", record.SummaryFile, err)
	}
	switch {
	case kind.Kind == loadSummaryKind:
		c.load = &loadSummary{}
		err = record.Strict(data, c.load)
	case kind.Ledger == nil:
		return c, errors.New("the summary is neither of a load nor of a trial")
	case kind.Version != record.SummaryVersion:
		return c, fmt.Errorf("%s has version %d; this lightsout reads version %d", record.SummaryFile, kind.Version, record.SummaryVersion)
	default:
		c.trial = &record.Summary{}
		err = record.Strict(data, c.trial)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", record.SummaryFile, err)
	}
	return c, nil
}

// errNoEnd reports the record of a trial or a load that did not end in order.
var errNoEnd = errors.New("the record is incomplete: lightsout was killed before it wrote " + record.SummaryFile +
	", so requests that were in flight then are missing")

// ofSession reports whether the record of that folder is a session's, which has events,
// but neither a plan nor a sign of an outage.
func ofSession(folder fs.FS, dir string) bool {
	if _, err := fs.Stat(folder, record.PlanFile); err == nil {
		return false
	}
	r, err := record.OpenFS(folder, dir)
	return err == nil && !r.Unplanned()
}

// verifyLoad checks the record in dir and prints its findings. The error reports a
// contradiction, or an unreadable record.
func verifyLoad(dir string, out io.Writer) error {
	if record.BeingWritten(dir) {
		return fmt.Errorf("a program is still writing the record in %s: repeat this when it has ended", dir)
	}
	folder := os.DirFS(dir)
	said, err := readClaims(folder)
	if err != nil {
		return fmt.Errorf("the summary can't be read: %w", err)
	}
	c, err := whileReading("the record", func() (*recount, error) { return recountRequests(folder, said.outages(), said.since(), said.began()) })
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there are no requests to verify: %w", err)
	}
	if err != nil {
		return fmt.Errorf("the requests in %s can't be read: %w", dir, err)
	}
	t := c.all
	fmt.Fprintf(out, "by requests.jsonl: %d ended = ok %d + failed %d + cancelled %d + unsent %d, in %s\n",
		t.Scheduled, t.OK, t.FailedSum(), t.Cancelled, t.Unsent, text.Count(len(c.runs), "run", "runs"))
	if c.earlier > 0 {
		fmt.Fprintf(out, "%s before the outage began do not count\n", text.Count(c.earlier, "request", "requests"))
	}
	writeFailed(out, t.Failed)
	if c.torn {
		fmt.Fprintln(out, "the last line is cut: the program was ended while it wrote")
	}
	v := &verification{recount: c, claims: said, folder: folder}
	var incomplete error
	switch {
	case said.load != nil:
		v.load()
	case said.trial != nil:
		v.trial()
	case ofSession(folder, dir):
		v.unchecked = append(v.unchecked, "whether requests are missing: this is the record of a session, which has no "+record.SummaryFile)
	default:
		incomplete = errNoEnd
	}
	problems := append(c.faults, v.differences...)
	if len(problems) == 0 && (said.load != nil || said.trial != nil) {
		fmt.Fprintln(out, "summary.json agrees with every total")
	}
	for _, p := range problems {
		fmt.Fprintln(out, power.Clean(p))
	}
	for _, u := range v.unchecked {
		fmt.Fprintln(out, "not checked: "+power.Clean(u))
	}
	if len(problems) > 0 {
		return fmt.Errorf("the record is inconsistent: %s", power.Clean(problems[0]))
	}
	return incomplete
}
