package cli

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"lightsout/internal/record"
	"lightsout/loadgen"
)

// recount is the sum of the records in a folder.
type recount struct {
	all  loadgen.Totals
	runs map[int]*recountedRun
	seen idSet
	// earlier counts the requests that ended before an unplanned outage began.
	earlier int
	// setBack is how far the wall clock was set back while requests were sent, by their times.
	setBack time.Duration
	// last is the highest number so far, and lastDue the time at which that one was scheduled.
	last    uint64
	lastDue time.Time
	// torn: the last line is cut off, because the program was killed.
	torn bool
	// faults are the contradictions in the ledger; at most maxFaults.
	faults []string
}

// recountedRun is one run of the generator.
type recountedRun struct {
	loadgen.Totals
	window *loadgen.Window
	failed []time.Time // the time from which each failed request counts
	first  uint64      // the number of the first request that was scheduled while the record was kept
	// lastSent is from when the last request counts that succeeded or failed.
	lastSent time.Time
}

const maxFaults = 10

// recountRequests reads the requests in a record's folder. It keeps each failed request
// in memory, and one bit for every other one. outages are those of the trial, for its
// error windows. Requests that ended before since do not count. The record was kept from
// began on.
func recountRequests(folder fs.FS, outages *loadgen.PowerOffs, since, began time.Time) (*recount, error) {
	c := &recount{runs: map[int]*recountedRun{}}
	var err error
	c.torn, err = record.EachRequestStrict(folder, func(n int, r *loadgen.Record) error {
		number, isNew := c.seen.add(r.ID)
		if r.ID == "" || !isNew {
			c.fault("line %d: request %q has ended before", n, r.ID)
		}
		c.check(n, r)
		c.noteOrder(number, r.Scheduled)
		if r.End.Before(since) {
			c.earlier++
			return nil
		}
		c.all.Count(*r)
		run := c.runs[r.Run]
		if run == nil {
			run = &recountedRun{window: loadgen.NewWindow(outages), first: math.MaxUint64}
			c.runs[r.Run] = run
		}
		run.Count(*r)
		run.window.Note(r)
		if !r.Scheduled.Before(began) {
			run.first = min(run.first, number)
		}
		if at := r.CountedAt(); (r.Class.Failed() || r.Class == loadgen.ClassOK) && at.After(run.lastSent) {
			run.lastSent = at
		}
		if r.Class.Failed() {
			run.failed = append(run.failed, r.CountedAt())
		}
		return nil
	})
	return c, err
}

// leastSetBack is the least step of the wall clock that counts: requests of one moment may be
// numbered in another order.
const leastSetBack = time.Second

// noteOrder notes how far the wall clock was set back before a request was scheduled: later
// requests have higher numbers.
func (c *recount) noteOrder(number uint64, scheduled time.Time) {
	if number <= c.last {
		return
	}
	if d := c.lastDue.Sub(scheduled); c.last > 0 && d > leastSetBack {
		c.setBack = max(c.setBack, d)
	}
	c.last, c.lastDue = number, scheduled
}

// idSet is a set of requests' IDs. Those of one generator are numbered
// (prefix-1, prefix-2, ...) and take one bit each.
type idSet struct {
	pages  map[idPage]*[64]uint64
	others map[string]struct{}
	last   map[string]uint64 // the highest number of each prefix
}

type idPage struct {
	prefix string
	number uint64
}

// add adds id and reports whether it is new, and its number; 0 if it has none.
func (s *idSet) add(id string) (number uint64, isNew bool) {
	if s.pages == nil {
		s.pages, s.others, s.last = map[idPage]*[64]uint64{}, map[string]struct{}{}, map[string]uint64{}
	}
	prefix, digits, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || digits[0] == '0' || digits[0] == '+' {
		_, known := s.others[id]
		s.others[id] = struct{}{}
		return 0, !known
	}
	s.last[prefix] = max(s.last[prefix], n)
	key := idPage{prefix, n / 4096}
	if s.pages[key] == nil {
		s.pages[key] = new([64]uint64)
	}
	word, bit := &s.pages[key][n%4096/64], uint64(1)<<(n%64)
	known := *word&bit != 0
	*word |= bit
	return n, !known
}

// missing counts the numbers that the set lacks between from and the highest number,
// and returns the ID of the first one.
func (s *idSet) missing(from uint64) (count uint64, first string) {
	for _, prefix := range slices.Sorted(maps.Keys(s.last)) {
		last, n := s.last[prefix], from
		if last < from {
			continue
		}
		for n < last && s.has(prefix, n) {
			n++
		}
		if n < last && first == "" {
			first = fmt.Sprintf("%s-%d", prefix, n)
		}
		count += last - from + 1
		for key, page := range s.pages {
			for i, word := range page {
				if low := key.number*4096 + uint64(i)*64; key.prefix == prefix && low+63 >= from {
					count -= uint64(bits.OnesCount64(word >> (max(from, low) - low)))
				}
			}
		}
	}
	return count, first
}

func (s *idSet) has(prefix string, n uint64) bool {
	page := s.pages[idPage{prefix, n / 4096}]
	return page != nil && page[n%4096/64]&(1<<(n%64)) != 0
}

func (c *recount) fault(format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

// check adds the contradictions in one request to faults.
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
