package power

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lightsout/internal/text"
)

// AnnotationSwitchedOff is the node annotation in which lightsout notes that it
// has switched a node's machine off.
const AnnotationSwitchedOff = "lightsout.dev/switched-off"

// Mark is the note on a node about who has switched its machine off. It tells
// operators on other hosts, who can't see this one's journal.
type Mark struct {
	// By is the account and the host, Journal tells its journals apart, also those
	// that were at the same place one after the other.
	By      string    `json:"by"`
	Journal string    `json:"journal"`
	At      time.Time `json:"at"`
	// Boot is the node's boot when it was noted; empty when that is not known.
	Boot string `json:"boot,omitempty"`
	// Back says how to bring the machine back.
	Back string `json:"back"`
}

// String is the sentence that the mark stands for.
func (m Mark) String() string {
	at := "a time it does not say"
	if !m.At.IsZero() {
		at = m.At.UTC().Format(time.RFC3339)
	}
	return text.Clean(fmt.Sprintf("%s at %s (to bring it back: %s)", m.By, at, m.Back), markLimit)
}

// markLimit is how much of a mark is shown, in characters: a command with two
// paths in it is of use only as a whole.
const markLimit = 1000

// Text is the mark as the annotation holds it.
func (m Mark) Text() string {
	text, _ := json.Marshal(m) // plain fields
	return string(text)
}

// ReadMark reads an annotation; what can't be read is somebody's all the same.
func ReadMark(text string) Mark {
	var m Mark
	if text == "" {
		return m
	}
	if json.Unmarshal([]byte(text), &m) != nil || m == (Mark{}) {
		m = Mark{By: Clean(text), Back: "not told"}
	}
	return m
}

// MarksOn gives the notes in a node's annotations.
func MarksOn(annotations map[string]string) []Mark {
	if m := ReadMark(annotations[AnnotationSwitchedOff]); m != (Mark{}) {
		return []Mark{m}
	}
	return nil
}

// Marker keeps the notes on nodes about who has switched them off. Its method
// ends with ctx.
type Marker interface {
	// Note changes the note on a node: change is given the one that is there
	// (zero: none), and says what to put in its place (zero: nothing) and
	// whether to. Where a note was put, it returns when a Look would show those
	// that were there before. The error is ErrMayNot where the account has no
	// right to; a node that is gone has no note, which is none.
	Note(ctx context.Context, node string, change func(had Mark) (Mark, bool)) error
}

// me is the note of this program's journal.
func (s *Switcher) me() Mark {
	name := fmt.Sprint(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	by := Clean(name + "@" + cmp.Or(host, "unknown"))
	path, journal := "", ""
	if s.Journal != nil {
		path = s.Journal.Path()
		if whole, err := filepath.Abs(path); err == nil {
			path = whole
		}
		if first := s.Journal.id(); first != "" {
			sum := sha256.Sum256([]byte(by + "\x00" + path + "\x00" + first))
			journal = hex.EncodeToString(sum[:6])
		}
	}
	back := cmp.Or(s.WayBack, "lightsout restore")
	if s.Journal != nil && s.Journal.Config() != "" && !strings.Contains(back, " --config ") {
		back += " --config " + text.ShellWord(s.Journal.Config())
	}
	if !strings.Contains(back, " --state ") {
		back += " --state " + text.ShellWord(filepath.Dir(path))
	}
	back += ", by " + by
	return Mark{By: by, Journal: journal, At: time.Now().UTC().Truncate(time.Second), Back: back}
}

// ErrMayNot says that the account may not write notes on nodes.
var ErrMayNot = errors.New("the account may not annotate nodes")

// over reports whether a note tells of what is no more: the node is Ready with
// another boot than when it was noted, or its heartbeat has come since for
// longer than a shutdown can take. A node just switched off is called Ready for
// most of a minute; what can't be told is not over.
func (m Mark) over(n Node) bool {
	switch {
	case !n.Ready || n.NotLeft != "":
		return false
	case m.otherBoot(n.BootID):
		return true
	}
	return !m.At.IsZero() && n.Heard.After(m.At.Add(CarriedOutWithin))
}

// otherBoot reports whether a node has booted since it was noted, as far as both
// boots are known.
func (m Mark) otherBoot(id string) bool { return otherBoot(m.Boot, id) }

// otherBoot reports whether two boots are known, and not the same.
func otherBoot(a, b string) bool { return a != "" && b != "" && a != b }

// markers are where notes are kept: on this host, which needs no right, and on
// the nodes.
func (s *Switcher) markers() []Marker {
	out := []Marker{register{s.Fleet.cfg.Locks, s.Fleet.cluster()}}
	if s.Marks != nil {
		out = append(out, s.Marks)
	}
	return out
}

// note changes the notes on nodes, wherever they are. Without the right to
// write them on nodes this host's must do.
func (s *Switcher) note(ctx context.Context, nodes []string, change func(node string, had Mark) (Mark, bool)) (errs error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	for _, marker := range s.markers() {
		for _, n := range nodes {
			err := marker.Note(ctx, n, func(had Mark) (Mark, bool) { return change(n, had) })
			if err != nil && !errors.Is(err, ErrMayNot) {
				errs = errors.Join(errs, err)
			}
		}
	}
	return errs
}

// mark notes on the nodes of an agreed question that they are being switched
// off. Where that fails the cluster is not what it seemed, and nothing must be
// switched. Another's note stays, unless it is over, or of an earlier boot: as
// soon as the node is called Ready that is over, and this switching is not.
func (s *Switcher) mark(ctx context.Context, nodes []string, q Question) error {
	if s.DryRun || q.Action == ActionOn {
		return nil
	}
	if s.Journal != nil {
		if err := s.Journal.Begin(); err != nil {
			return fmt.Errorf("nothing was switched: %w", err)
		}
	}
	me := s.me() // the same wherever it is noted
	err := s.note(ctx, nodes, func(node string, had Mark) (Mark, bool) {
		m := me
		for _, b := range q.Bindings {
			if b.Node.Name == node {
				m.Boot = b.Node.BootID
			}
		}
		return m, had == (Mark{}) || s.Ours(had) || slices.Contains(q.over, had) || had.otherBoot(m.Boot)
	})
	if err != nil {
		return fmt.Errorf("nothing was switched: %w", err)
	}
	return nil
}

// returned takes our notes off those of the nodes that no journal of ours has as
// off; and every note off nodes whose machines were proven off at a time and are
// proven on since: whoever wrote one before it. A note that stays is shown, and
// tried again by Sweep.
func (s *Switcher) returned(nodes []string, wasOff map[string]time.Time) {
	if s.DryRun {
		return
	}
	back := func(string) bool { return false }
	if s.Journal != nil {
		if left, err := s.Journal.LeftOff(); err == nil {
			back = func(n string) bool {
				return !slices.ContainsFunc(left, func(l LeftOff) bool { return l.Node == n })
			}
		}
	}
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return !back(n) && wasOff[n].IsZero() })
	_ = s.note(context.Background(), nodes, func(n string, had Mark) (Mark, bool) {
		return Mark{}, had.At.Before(wasOff[n]) || s.Ours(had) && back(n)
	})
}

// Noted is a note on a node.
type Noted struct {
	Node string `json:"node"`
	Mark Mark   `json:"mark"`
}

// Sweep takes off the notes that are over, and our own on nodes that no journal
// of ours has as off; nodes are all that are seen, none where the cluster is
// not. It returns the notes of others that stay.
func (s *Switcher) Sweep(nodes []Node) (others []Noted) {
	nodes = s.withRegister(nodes, true)
	unlock, err := s.Fleet.cfg.Locks.try(clusterLock(s.Fleet.cluster()))
	if err == nil { // nobody is just about to switch what is noted
		defer unlock()
	}
	keep := err != nil || s.DryRun || s.ReadOnly
	for _, n := range nodes {
		ours := false
		for _, m := range n.Marks {
			switch {
			case s.Ours(m):
				ours = true
			case !m.over(n):
				if slices.ContainsFunc(others, func(o Noted) bool { return o.Node == n.Name && o.Mark.By == m.By && o.Mark.Journal == m.Journal }) {
					continue // noted on the node and on this host
				}
				others = append(others, Noted{n.Name, m})
			case !keep:
				_ = s.note(context.Background(), []string{n.Name}, func(_ string, had Mark) (Mark, bool) { return Mark{}, had == m })
			}
		}
		if ours && !keep {
			s.returned([]string{n.Name}, nil)
		}
	}
	return others
}

// Registered names the nodes that have a note on this host.
func (s *Switcher) Registered() map[string]Mark {
	return register{s.Fleet.cfg.Locks, s.Fleet.cluster()}.read()
}

// withRegister adds the notes that are kept on this host to those on the nodes;
// with all, also to nodes that are not seen.
func (s *Switcher) withRegister(nodes []Node, all bool) []Node {
	noted := s.Registered()
	nodes = slices.Clone(nodes)
	for i, n := range nodes {
		m, ok := noted[n.Name]
		if delete(noted, n.Name); ok && !slices.Contains(n.Marks, m) {
			nodes[i].Marks = append(slices.Clone(n.Marks), m)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(noted)) {
		if all {
			nodes = append(nodes, Node{NodeRef: NodeRef{Name: name}, Marks: []Mark{noted[name]}})
		}
	}
	return nodes
}

// Ours reports whether a mark is of this program's journal: of one that was there
// before it, and is lost, nothing is known here.
func (s *Switcher) Ours(m Mark) bool { return m.Journal != "" && m.Journal == s.me().Journal }
