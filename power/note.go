package power

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lightsout/internal/outage"
	"lightsout/internal/text"
)

// AnnotationSwitchedOff is the node annotation in which lightsout records that it has
// switched a node's machine off.
const AnnotationSwitchedOff = "lightsout.dev/switched-off"

// Note is a note about who has switched a node's machine off. lightsout writes it on the
// node, as an annotation, for people and for programs with another journal.
type Note struct {
	// By is the account and the host.
	By string `json:"by"`
	// ID identifies the note. The journal contains it, unless somebody has put back an
	// older copy of the journal.
	ID string `json:"id,omitempty"`
	// At is when the node was annotated, by the API server's clock if known.
	At time.Time `json:"at"`
	// Boot is the node's boot ID at that time; empty if unknown.
	Boot string `json:"boot,omitempty"`
	// Back describes how to power the machine on.
	Back string `json:"back"`
}

// String describes the note in one sentence.
func (m Note) String() string {
	at := "an unknown time"
	if !m.At.IsZero() {
		at = m.At.Local().Format(time.DateTime)
	}
	back, _ := strings.CutSuffix(m.Back, ", by "+m.By)
	if !restoreCommand.MatchString(back) {
		back = "the annotation has no command of lightsout; ask " + m.By
	}
	return text.Clean(fmt.Sprintf("%s at %s (to bring it back: %s)", m.By, at, back), noteLimit)
}

// restoreCommand matches a command of lightsout that powers machines on. Whoever controls
// a node can write its annotation, and an operator may run the command that lightsout
// prints.
var restoreCommand = regexp.MustCompile(`^(?:KUBECONFIG=` + shellWord + ` )?lightsout restore(?: ` + shellWord + `)*$`)

const shellWord = `(?:[-@%+=:,./_0-9A-Za-z]|'[^']*'|\\')+`

// noteLimit is how much of a note is shown, in characters: a command with two
// paths in it is of use only as a whole.
const noteLimit = 1000

// notesLimit is the largest number of notes on one node: one for each journal that has
// switched it off and not seen it on again.
const notesLimit = 16

// Text is the note as the annotation of a node holds it that has no other.
func (m Note) Text() string { return together([]Note{m}) }

// together returns the text of an annotation with these notes; empty if there are none.
func together(notes []Note) string {
	if len(notes) == 0 {
		return ""
	}
	text, _ := json.Marshal(notes[:min(len(notes), notesLimit)]) // plain fields
	return string(text)
}

// apart is the inverse of together. A text that it cannot parse still counts as the note of an
// unknown operator.
func apart(text string) (notes []Note) {
	if text == "" {
		return nil
	}
	if json.Unmarshal([]byte(text), &notes) != nil || len(notes) == 0 || slices.Contains(notes, Note{}) {
		return []Note{{By: Clean(text), Back: "unknown"}}
	}
	return notes[:min(len(notes), notesLimit)]
}

// NotesOn returns the notes in a node's annotations, the newest first.
func NotesOn(annotations map[string]string) []Note { return apart(annotations[AnnotationSwitchedOff]) }

// NoteStore holds the notes on nodes, as text. Its method ends with ctx.
type NoteStore interface {
	// Change changes the notes on a node. It passes the present ones (empty: none) to
	// change, which returns the new ones (empty: none) and whether to write them. After
	// writing, Change returns only once ClusterReader.State would also show the notes that were there
	// before. The error is ErrMayNot if the account lacks the right; a deleted node has
	// no annotation.
	Change(ctx context.Context, node string, change func(had string) (text string, write bool)) error
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
func (m Note) over(n Node) bool {
	if !n.Ready || n.Presence == Down || m.At.IsZero() {
		return false
	}
	since := n.Heard.Add(n.Ahead).Sub(m.At)
	return since > CarriedOutWithin || since > bootCounts && outage.OtherBoot(m.Boot, n.BootID)
}

// NodeNote is a note on a node.
type NodeNote struct {
	Node string `json:"node"`
	Note Note   `json:"note"`
	// Ahead is how far the clock of Note.At, the API server's, is ahead of this host's; 0 if
	// unknown.
	Ahead time.Duration `json:"-"`
}
