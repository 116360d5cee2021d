package power

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"time"
)

// AnnotationSwitchedOff is the node annotation in which lightsout notes that it
// has switched a node's machine off.
const AnnotationSwitchedOff = "lightsout.dev/switched-off"

// Mark is the note on a node about who has switched its machine off. It tells
// operators on other hosts, who can't see this one's journal.
type Mark struct {
	// By is the account and the host, Journal tells its journals apart.
	By      string    `json:"by"`
	Journal string    `json:"journal"`
	At      time.Time `json:"at"`
	// Back says how to bring the machine back.
	Back string `json:"back"`
}

// String is the sentence that the mark stands for.
func (m Mark) String() string {
	return Clean(fmt.Sprintf("%s at %s (to bring it back: %s)", m.By, m.At.UTC().Format(time.RFC3339), m.Back))
}

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

// Marker notes on nodes who has switched them off. Its methods end with ctx.
type Marker interface {
	// Mark puts a note on a node that has none but our own, and returns when a
	// Look would show the notes that were there before it. The error is
	// ErrMayNot where the account has no right to.
	Mark(ctx context.Context, node string, m Mark) error
	// Unmark takes the note of a journal away; another's stays. A node that is
	// gone, or has none, is no error.
	Unmark(ctx context.Context, node, journal string) error
}

// me is the note of this program's journal.
func (s *Switcher) me() Mark {
	name := fmt.Sprint(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	by := Clean(name + "@" + cmp.Or(host, "unknown"))
	path := ""
	if s.Journal != nil {
		path = s.Journal.Path()
		if whole, err := filepath.Abs(path); err == nil {
			path = whole
		}
	}
	sum := sha256.Sum256([]byte(by + "\x00" + path))
	return Mark{By: by, Journal: hex.EncodeToString(sum[:6]), At: time.Now().UTC().Truncate(time.Second), Back: "lightsout restore, by " + by}
}

// ErrMayNot says that the account may not write notes on nodes.
var ErrMayNot = errors.New("the account may not annotate nodes")

// mark notes on the nodes that they are being switched off. Without the right to
// that, the journal alone must do; where it fails otherwise, the cluster is not
// what it seemed, and nothing must be switched.
func (s *Switcher) mark(ctx context.Context, r Request) error {
	if s.Marks == nil || s.DryRun || r.Action == ActionOn {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	for _, n := range r.Nodes {
		if err := s.Marks.Mark(ctx, n, s.me()); err != nil && !errors.Is(err, ErrMayNot) {
			return fmt.Errorf("nothing was switched: %w", err)
		}
	}
	return nil
}

// Returned takes our notes off those of the nodes that no journal of ours has
// as off.
func (s *Switcher) Returned(nodes ...string) {
	if s.Marks == nil || s.Journal == nil || s.DryRun {
		return
	}
	left, err := s.Journal.LeftOff()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	for _, n := range nodes {
		if !slices.ContainsFunc(left, func(l LeftOff) bool { return l.Node == n }) {
			_ = s.Marks.Unmark(ctx, n, s.me().Journal) // one that stays is shown, and tried again
		}
	}
}

// Ours reports whether a mark is of this program's journal.
func (s *Switcher) Ours(m Mark) bool { return m.Journal != "" && m.Journal == s.me().Journal }
