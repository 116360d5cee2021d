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
	"time"

	"lightsout/internal/clock"
	"lightsout/internal/text"
)

// AnnotationSwitchedOff is the node annotation in which lightsout records that it has
// switched a node's machine off.
const AnnotationSwitchedOff = "lightsout.dev/switched-off"

// Mark is the note on a node about who has switched its machine off, for operators on
// other hosts, who cannot see this host's journal.
type Mark struct {
	// By is the account and the host. Journal identifies the account's journal, and
	// distinguishes journals that had the same path one after the other.
	By      string `json:"by"`
	Journal string `json:"journal"`
	// ID identifies the note. The journal contains it, unless somebody has put back an
	// older copy of the journal.
	ID string `json:"id,omitempty"`
	// At is when the node was annotated, by the API server's clock if known.
	At time.Time `json:"at"`
	// Boot is the node's boot ID at that time; empty if unknown.
	Boot string `json:"boot,omitempty"`
	// Back describes how to power the machine on.
	Back string `json:"back"`
	// Others holds the notes of other journals on the node, in the combined Mark that
	// Marker stores; in a single note it is empty.
	Others others `json:"others,omitempty"`
}

// String describes the mark in one sentence.
func (m Mark) String() string {
	at := "an unknown time"
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

// ReadMark parses an annotation. One that it cannot parse still counts as the
// annotation of an unknown operator.
func ReadMark(text string) Mark {
	var m Mark
	if text == "" {
		return m
	}
	if json.Unmarshal([]byte(text), &m) != nil || m == (Mark{}) {
		m = Mark{By: Clean(text), Back: "unknown"}
	}
	return m
}

// MarksOn gives the notes in a node's annotations.
func MarksOn(annotations map[string]string) []Mark {
	return ReadMark(annotations[AnnotationSwitchedOff]).all()
}

// Marker writes the notes on nodes about who has switched them off. Its method ends
// with ctx.
type Marker interface {
	// Note changes the note on a node. It passes the present note (zero: none) to
	// change, which returns the new one (zero: none) and whether to write it. After
	// writing, Note returns only once a Look would also show the notes that were there
	// before. The error is ErrMayNot if the account lacks the right; a deleted node has
	// no annotation.
	Note(ctx context.Context, node string, change func(had Mark) (Mark, bool)) error
}

// me is the note of this program's journal.
func (s *Switcher) me() Mark {
	host, _ := os.Hostname()
	by := Clean(account() + "@" + cmp.Or(host, "unknown"))
	journal := ""
	if s.Journal != nil {
		path := s.Journal.Path()
		if whole, err := filepath.Abs(path); err == nil {
			path = whole
		}
		if first := s.Journal.id(); first != "" {
			sum := sha256.Sum256([]byte(by + "\x00" + path + "\x00" + first))
			journal = hex.EncodeToString(sum[:6])
		}
	}
	back := cmp.Or(s.WayBack, s.Fleet.cfg.WayBack) + ", by " + by
	return Mark{By: by, Journal: journal, At: time.Now().UTC().Truncate(time.Second), Back: back}
}

// account returns the name of the account that runs this program.
func account() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprint(os.Getuid())
}

// ErrMayNot reports that the account may not write notes on nodes.
var ErrMayNot = errors.New("the account may not annotate nodes")

// bootCounts is how long after a note a new boot of its node ends the note. A machine
// may have begun to reboot by itself just before the request, which then acts on the
// new boot, and until then the node is Ready with it. A guest shuts down within 90 s
// (systemd's DefaultTimeoutStopSec), or within the longer time that its units or its
// kubelet's shutdownGracePeriod demand.
const bootCounts = 10 * time.Minute

// over reports whether a note is out of date. That is so if the node is Ready with
// another boot than in the note, and has been for so long that the request cannot still
// act on that boot; or if its heartbeats have continued for longer than a shutdown can
// take. The API server calls a node Ready for most of a minute after its machine is
// off; when in doubt, the note counts.
func (m Mark) over(n Node) bool {
	if !n.Ready || n.NotLeft != "" || m.At.IsZero() {
		return false
	}
	since := n.Heard.Add(n.Ahead).Sub(m.At)
	return since > CarriedOutWithin || since > bootCounts && m.otherBoot(n.BootID)
}

// otherBoot reports whether a node has booted since the note was written, as far as
// both boots are known.
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

// note changes the notes on nodes. If the account may not write them on nodes, this
// host's register has to suffice, unless must is true.
func (s *Switcher) note(ctx context.Context, nodes []string, must bool, change func(node string, had Mark) (Mark, bool)) (errs error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	for _, marker := range s.markers() {
		for _, n := range nodes {
			err := marker.Note(ctx, n, func(had Mark) (Mark, bool) { return change(n, had) })
			if err != nil && (must || !errors.Is(err, ErrMayNot)) {
				errs = errors.Join(errs, err)
			}
		}
	}
	return errs
}

// mark annotates the nodes of an agreed question before they are switched off. If that
// fails, the cluster is not what it seemed, and lightsout must switch nothing. The
// notes of others stay, unless they are out of date: each journal removes its own.
//
// It returns the annotation's ID: lightsout has sent nothing for it yet.
func (s *Switcher) mark(ctx context.Context, nodes []string, q Question) (id string, err error) {
	if s.DryRun || q.Action == ActionOn {
		return "", nil
	}
	if s.Journal != nil {
		if err := s.Journal.Begin(); err != nil {
			return "", fmt.Errorf("nothing was switched: %w", err)
		}
	}
	me := s.me() // the same in every place
	if s.Journal != nil {
		me.ID = newOp()
		if err := s.Journal.annotating(me.ID, nodes); err != nil {
			return "", fmt.Errorf("nothing was switched: %w", err)
		}
	}
	uncertain := !s.Fleet.cluster().Certain()
	err = s.note(ctx, nodes, uncertain, func(node string, had Mark) (Mark, bool) {
		m := me
		m.At = m.At.Add(q.ahead).Truncate(time.Second)
		for _, b := range q.Bindings {
			if b.Node.Name == node && certainBoot(b.Heard, time.Now()) {
				m.Boot = b.Node.BootID // otherwise the request may end another boot
			}
		}
		rest, _ := had.without(func(o Mark) bool { return s.Ours(o) || slices.Contains(q.over, o) })
		return together(append([]Mark{m}, rest.all()...)), true
	})
	switch {
	case uncertain && errors.Is(err, ErrMayNot):
		return me.ID, fmt.Errorf("nothing was switched: %w, and %s", ErrMayNot, noIdentity)
	case err != nil:
		return me.ID, fmt.Errorf("nothing was switched: %w", err)
	}
	return me.ID, nil
}

// noIdentity is the reason why lightsout switches nothing off while nobody on another
// host, or with another kubeconfig, would notice it.
const noIdentity = "the cluster's UID is unknown, so a lightsout with another kubeconfig would not notice the machines that this one switches off; " +
	"bind the ClusterRole lightsout-view (docs/clusterrole.yaml), and see lightsout check"

// noIdentity returns the reason why lightsout cannot distinguish the cluster from
// others; empty if it can, or if nodes carry the notes, which belong to the cluster
// itself.
func (s *Switcher) noIdentity() string {
	if s.Marks != nil || s.Fleet.cluster().Certain() {
		return ""
	}
	return "Nodes are not annotated (guards.annotate: false), and " + noIdentity
}

// returned removes our notes from those of the nodes that no journal of ours lists as
// off. It also removes the notes of others from nodes whose machines were proven off at
// a time and are proven on since, if a note is so much older than that time that its
// request was the one that switched the machine off. It holds the cluster's lock,
// because another program of this journal may have written a note for an intent that is
// still to come. A note that it cannot remove stays visible, and Sweep retries. The note
// with the ID mine belongs to this program: if the journal has no intent for it,
// lightsout sent nothing.
func (s *Switcher) returned(nodes []string, wasOff map[string]time.Time, mine string) {
	if s.DryRun {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	unlock, err := s.Fleet.cfg.Locks.take(ctx, clusterLock(s.Fleet.cluster()))
	switch {
	case err == nil:
		defer unlock()
	case errors.Is(err, errLocked):
		return
	}
	s.takeOff(nodes, wasOff, mine)
}

// arrivesWithin is how long after its note another program's request may still be on its
// way: that program waits for its lock, a slot, a login and a slow power API.
const arrivesWithin = time.Minute

// takeOff does the work of returned, under the cluster's lock.
func (s *Switcher) takeOff(nodes []string, wasOff map[string]time.Time, mine string) {
	back := s.accountedFor()
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return !back(n) && wasOff[n].IsZero() })
	_ = s.note(context.Background(), nodes, false, func(n string, had Mark) (Mark, bool) {
		return had.without(func(m Mark) bool {
			if s.Ours(m) {
				return back(n) && (m.ID == mine || s.wasAsked(m, n))
			}
			return m.At.Add(arrivesWithin).Before(wasOff[n])
		})
	})
}

// accountedFor returns a function that reports whether the journal lists a node's
// machine as on. For an unreadable or damaged journal it reports false for every node.
func (s *Switcher) accountedFor() func(node string) bool {
	none := func(string) bool { return false }
	if s.Journal == nil {
		return none
	}
	if damaged, err := s.Journal.Damaged(); err != nil || len(damaged) > 0 {
		return none
	}
	left, err := s.Journal.LeftOff()
	if err != nil {
		return none
	}
	return func(n string) bool {
		return !slices.ContainsFunc(left, func(l LeftOff) bool { return l.Node == n })
	}
}

// Noted is a note on a node.
type Noted struct {
	Node string `json:"node"`
	Mark Mark   `json:"mark"`
	// Older: this program's journal wrote the note, but no longer has it, or no intent for
	// it: somebody has put back an older copy of the journal.
	Older bool `json:"-"`
}

// Sweep takes off the notes that are over, and our own on nodes that no journal
// of ours has as off; nodes are all that are seen, none where the cluster is
// not. It returns the notes of others that stay.
func (s *Switcher) Sweep(nodes []Node) (others []Noted) {
	nodes = s.withRegister(nodes, true)
	unlock, err := s.Fleet.cfg.Locks.tryAll(clusterLock(s.Fleet.cluster()))
	if err == nil { // nobody is about to switch the nodes in the notes
		defer unlock()
	}
	keep := err != nil || s.DryRun || s.ReadOnly
	certain := s.Fleet.cluster().Certain() // otherwise a note may belong to another cluster
	for _, n := range nodes {
		ours := ""
		for _, m := range n.Marks {
			switch {
			case s.Ours(m) && (s.wasAsked(m, n.Name) || s.isOn(n)):
				ours = m.ID
			case !m.over(n):
				if slices.ContainsFunc(others, func(o Noted) bool { return o.Node == n.Name && o.Mark.By == m.By && o.Mark.Journal == m.Journal }) {
					continue // noted both on the node and on this host
				}
				others = append(others, Noted{Node: n.Name, Mark: m, Older: s.sameJournal(m)})
			case !keep && certain:
				_ = s.note(context.Background(), []string{n.Name}, false, func(_ string, had Mark) (Mark, bool) {
					return had.without(func(o Mark) bool { return o == m })
				})
			}
		}
		if ours != "" && !keep {
			s.takeOff([]string{n.Name}, nil, ours)
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
		nodes[i].Marks = slices.Clone(n.Marks)
		for _, m := range noted[n.Name].all() {
			if !slices.Contains(n.Marks, m) {
				nodes[i].Marks = append(nodes[i].Marks, m)
			}
		}
		delete(noted, n.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(noted)) {
		if all {
			nodes = append(nodes, Node{NodeRef: NodeRef{Name: name}, Marks: noted[name].all()})
		}
	}
	return nodes
}

// Ours reports whether this program's journal wrote a mark and still has it. It is
// false for the marks of an earlier journal that is lost, and for those written after
// this journal was copied.
func (s *Switcher) Ours(m Mark) bool {
	known, _ := s.Journal.annotated(m.ID, "")
	return s.sameJournal(m) && known
}

// wasAsked reports whether the journal has an intent for the operation that the note on
// a node announces.
func (s *Switcher) wasAsked(m Mark, node string) bool {
	_, intent := s.Journal.annotated(m.ID, node)
	return intent
}

// onTime is the longest time between two heartbeats of a healthy node: its kubelet
// renews its Lease every 10 s, a quarter of leaseDurationSeconds
// (pkg/kubelet/kubelet.go).
const onTime = 15 * time.Second

// isOn reports whether a node is running, by its heartbeat or otherwise by its machine.
// A note without an intent then belongs to a program that ended before it sent the
// request.
func (s *Switcher) isOn(n Node) bool {
	if n.Ready && n.NotLeft == "" && clock.Since(n.Heard) < onTime {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	for _, r := range s.Fleet.Read(ctx, s.Fleet.Resolve(ctx, []NodeRef{n.NodeRef})) {
		return r.State == On && r.Proof == Proven
	}
	return false
}

// sameJournal reports whether this program's journal wrote a mark, or a later state of
// it.
func (s *Switcher) sameJournal(m Mark) bool {
	return m.Journal != "" && m.Journal == s.me().Journal
}
