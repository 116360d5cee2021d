package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lightsout/internal/record"
	"lightsout/loadgen"
	"lightsout/power"
)

func newLoadVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR",
		Short: "Recompute every total from requests.jsonl and compare it with the summary",
		Args:  takes(1, 1, "record"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return verifyLoad(args[0], cmd.OutOrStdout())
		},
	}
}

// recount is what the records of a folder add up to.
type recount struct {
	all  loadgen.Totals
	runs map[int]*loadgen.Totals
	seen idSet
	// torn: the last line is cut, as it is when the program was killed.
	torn bool
	// faults are what can't be true of a ledger; at most maxFaults.
	faults []string
}

const maxFaults = 10

// recountRequests reads the requests of a record's folder, in memory that does
// not grow with their number but for a bit each.
func recountRequests(folder fs.FS) (*recount, error) {
	c := &recount{runs: map[int]*loadgen.Totals{}}
	var err error
	c.torn, err = record.EachRequest(folder, func(n int, r *loadgen.Record) error {
		if r.ID == "" || !c.seen.add(r.ID) {
			c.fault("line %d: request %q has ended before", n, r.ID)
		}
		c.check(n, r)
		c.all.Count(*r)
		if c.runs[r.Run] == nil {
			c.runs[r.Run] = &loadgen.Totals{}
		}
		c.runs[r.Run].Count(*r)
		return nil
	})
	return c, err
}

// idSet is a set of requests' IDs. Those of one generator are numbered
// (prefix-1, prefix-2, ...) and take one bit each.
type idSet struct {
	pages  map[idPage]*[64]uint64
	others map[string]struct{}
}

type idPage struct {
	prefix string
	number uint64
}

// add reports whether id is new.
func (s *idSet) add(id string) bool {
	if s.pages == nil {
		s.pages, s.others = map[idPage]*[64]uint64{}, map[string]struct{}{}
	}
	prefix, digits, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || digits[0] == '0' || digits[0] == '+' {
		_, known := s.others[id]
		s.others[id] = struct{}{}
		return !known
	}
	key := idPage{prefix, n / 4096}
	if s.pages[key] == nil {
		s.pages[key] = new([64]uint64)
	}
	word, bit := &s.pages[key][n%4096/64], uint64(1)<<(n%64)
	known := *word&bit != 0
	*word |= bit
	return !known
}

func (c *recount) fault(format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

// check looks for what can't be true of one request.
func (c *recount) check(n int, r *loadgen.Record) {
	if r.Class.Code() < 0 {
		c.fault("line %d: there is no class %q", n, r.Class)
	}
	if r.Count < 0 || r.Count > 0 && r.Class != loadgen.ClassUnsent {
		c.fault("line %d: %d requests in one record", n, r.Count)
	}
	if r.Class == loadgen.ClassOK && (r.Status < 100 || r.Status >= 400 || r.FirstByte.IsZero()) {
		c.fault("line %d: request %q is ok with status %d", n, r.ID, r.Status)
	}
	if r.Class == loadgen.ClassUnsent && !r.Sent.IsZero() {
		c.fault("line %d: request %q is unsent, but was sent", n, r.ID)
	}
	if r.End.Before(r.Scheduled) {
		c.fault("line %d: request %q ended before it was due", n, r.ID)
	}
}

// claims are the parts of a summary that can be recomputed.
type claims struct {
	Kind string `json:"kind"`
	totalsClaim
	Ledger *totalsClaim  `json:"ledger"`
	Load   []totalsClaim `json:"load"`
}

type totalsClaim struct {
	Step string `json:"step"`
	Sent int    `json:"sent"`
	loadgen.Counts
}

// differs says in what a claim differs from the records; empty: it agrees.
// Requests that were in flight have no record.
func (c *totalsClaim) differs(t *loadgen.Totals, byClass bool) string {
	scheduled := c.Scheduled
	if scheduled == 0 {
		scheduled = c.Sent + c.Unsent
	}
	for _, v := range []struct {
		name       string
		claim, got int
	}{
		{"scheduled", scheduled, t.Scheduled + c.InFlight},
		{"ok", c.OK, t.OK}, {"failed", c.Failed, t.FailedSum()},
		{"cancelled", c.Cancelled, t.Cancelled}, {"unsent", c.Unsent, t.Unsent},
	} {
		if v.claim != v.got {
			return fmt.Sprintf("%s is %d, by the requests it is %d", v.name, v.claim, v.got)
		}
	}
	if byClass && !maps.Equal(c.FailedByClass, t.Failed) && len(c.FailedByClass)+len(t.Failed) > 0 {
		return fmt.Sprintf("failed_by_class is %v, by the requests it is %v", c.FailedByClass, t.Failed)
	}
	return ""
}

// compare finds where a summary differs from the records.
func (c *recount) compare(s *claims) (differences []string) {
	tell := func(what, difference string) {
		if difference != "" {
			differences = append(differences, what+": "+difference)
		}
	}
	if s.Kind == loadSummaryKind {
		tell("the summary", s.differs(&c.all, true))
		return differences
	}
	if s.Ledger == nil {
		return []string{"the summary is neither of a load nor of a trial"}
	}
	tell("the ledger", s.Ledger.differs(&c.all, false))
	// Steps don't name their run, but begin in the order of their numbers.
	left := slices.Sorted(maps.Keys(c.runs))
	for _, step := range s.Load {
		if step.Sent == 0 && step.Unsent == 0 || step.Sent == step.InFlight && step.Unsent == 0 {
			continue
		}
		i := slices.IndexFunc(left, func(run int) bool { return step.differs(c.runs[run], true) == "" })
		if i < 0 {
			tell(fmt.Sprintf("load step %q", step.Step), "no run in the requests has these totals")
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	return differences
}

// noSummary says why there is no summary in the record of that folder: a session has
// events and no plan.
func noSummary(folder fs.FS) string {
	_, planned := fs.Stat(folder, record.PlanFile)
	_, events := fs.Stat(folder, record.EventsFile)
	why := "the program was ended before it wrote one"
	if events == nil && planned != nil {
		why = "this is the record of a session, and only a trial and a load are summed up"
	}
	return "there is no summary to compare with: " + why
}

// verifyLoad checks the record in dir and says what it finds. The error says
// that something does not agree, or that the record can't be read.
func verifyLoad(dir string, out io.Writer) error {
	folder := os.DirFS(dir)
	c, err := whileReading(func() (*recount, error) { return recountRequests(folder) })
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there are no requests to verify: %w", err)
	}
	if err != nil {
		return fmt.Errorf("the requests in %s can't be read: %w", dir, err)
	}
	t := c.all
	fmt.Fprintf(out, "by requests.jsonl: %d ended = ok %d + failed %d + cancelled %d + unsent %d, in %d runs\n",
		t.Scheduled, t.OK, t.FailedSum(), t.Cancelled, t.Unsent, len(c.runs))
	writeFailed(out, t.Failed)
	if c.torn {
		fmt.Fprintln(out, "the last line is cut: the program was ended while it wrote")
	}
	problems := c.faults
	data, err := whileReading(func() ([]byte, error) { return record.ReadSmall(folder, record.SummaryFile) })
	switch {
	case err != nil:
		return fmt.Errorf("the summary can't be read: %w", err)
	case data == nil:
		fmt.Fprintln(out, noSummary(folder))
	default:
		var s claims
		if err := json.Unmarshal(data, &s); err != nil {
			return fmt.Errorf("%s is no summary: %w", record.SummaryFile, err)
		}
		d := c.compare(&s)
		if len(d) == 0 {
			fmt.Fprintln(out, "summary.json agrees with every total")
		}
		problems = append(problems, d...)
	}
	for _, p := range problems {
		fmt.Fprintln(out, power.Clean(p))
	}
	if len(problems) > 0 {
		return fmt.Errorf("the record does not agree with itself: %s", power.Clean(problems[0]))
	}
	return nil
}
