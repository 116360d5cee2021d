package power

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"
)

// entryLimit is the longest line, in bytes, that is taken for an entry.
const entryLimit = 1 << 20

// ReadJournal reads entries from r, oldest first. Lines that are no entries
// (torn by a crash, damaged, longer than 1 MiB) are left out and counted; an
// entry with an unknown field is read, for a newer version may have written it.
// The error is r's own.
func ReadJournal(r io.Reader) (entries []Entry, damaged int, err error) {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		line, tooLong, err := readLine(br)
		if err != nil && !errors.Is(err, io.EOF) {
			return entries, damaged, err
		}
		line = bytes.TrimSpace(line)
		switch e, ok := parseEntry(line); {
		case tooLong:
			damaged++
		case ok:
			entries = append(entries, e)
		case len(line) > 0:
			damaged++
		}
		if err != nil {
			return entries, damaged, nil
		}
	}
}

// readLine reads up to a newline, and lets the rest of a too long line go by.
func readLine(br *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := br.ReadSlice('\n')
		if len(line)+len(part) > entryLimit {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

func parseEntry(line []byte) (Entry, bool) {
	var e Entry
	if len(line) == 0 || json.Unmarshal(line, &e) != nil || e.Node == "" {
		return Entry{}, false
	}
	// What is read here is shown on a terminal later.
	if e.Text = Clean(e.Text); Clean(e.Node) != e.Node {
		return Entry{}, false
	}
	switch e.Kind {
	case EntryIntent, EntryOutcome:
		switch e.Action {
		case ActionOn, ActionOff, ActionShutdown:
			return e, e.Op != ""
		}
		return Entry{}, false
	case EntrySeen, EntryCordoned, EntryUncordoned:
		return e, true
	}
	return Entry{}, false
}

// ledger is what the entries so far add up to: for each node of one cluster,
// the operations that switched it off or may have, and that are not settled.
type ledger struct {
	cluster string
	open    map[string][]LeftOff // by node, oldest first
	cordon  map[string]Entry     // by node: cordoned by this program
}

func newLedger(cluster string) *ledger {
	return &ledger{cluster: cluster, open: map[string][]LeftOff{}, cordon: map[string]Entry{}}
}

func (l *ledger) fold(e Entry) {
	if e.Cluster != l.cluster {
		return
	}
	switch {
	case e.Kind == EntryCordoned:
		if _, already := l.cordon[e.Node]; !already {
			l.cordon[e.Node] = e
		}
	case e.Kind == EntryUncordoned:
		delete(l.cordon, e.Node)
	case e.Kind == EntrySeen, e.Kind == EntryOutcome && e.Action == ActionOn && e.Phase == PhaseDone:
		delete(l.open, e.Node)
	case e.Action == ActionOn:
	case e.Kind == EntryIntent:
		l.open[e.Node] = append(l.open[e.Node], LeftOff{Entry: e, Certainty: LeftOffUncertain})
	case e.Kind == EntryOutcome:
		l.outcome(e)
	}
}

// outcome applies the outcome of switching off to its intent.
func (l *ledger) outcome(e Entry) {
	open := l.open[e.Node]
	for i := range open {
		if open[i].Op != e.Op {
			continue
		}
		switch {
		case e.Phase == PhaseDone:
			open[i].Certainty = LeftOffSeen
		case e.Phase == PhaseFailed && !e.Sent:
			open = append(open[:i:i], open[i+1:]...)
			if len(open) == 0 {
				delete(l.open, e.Node)
			} else {
				l.open[e.Node] = open
			}
		}
		return
	}
}

// cordons gives the nodes that are cordoned, oldest first.
func (l *ledger) cordons() []Entry {
	return slices.SortedFunc(maps.Values(l.cordon), func(a, b Entry) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Node, b.Node))
	})
}

// list gives one LeftOff a node: the first intent since it was last seen on,
// whose boot is the one before, with the best certainty of all of them.
func (l *ledger) list() []LeftOff {
	out := make([]LeftOff, 0, len(l.open))
	for _, open := range l.open {
		first := open[0]
		first.Asked = open[len(open)-1].At
		for _, o := range open[1:] {
			if o.Certainty == LeftOffSeen {
				first.Certainty = LeftOffSeen
			}
			if first.Binding.On == nil {
				first.Binding.On = o.Binding.On
			}
		}
		out = append(out, first)
	}
	sort.Slice(out, func(i, k int) bool {
		if !out[i].At.Equal(out[k].At) {
			return out[i].At.Before(out[k].At)
		}
		return out[i].Node < out[k].Node
	})
	return out
}
