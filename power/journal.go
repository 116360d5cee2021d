package power

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// EntryKind says what a journal entry is.
type EntryKind string

// Kinds of entries.
const (
	// EntryIntent is written before the first packet of an action.
	EntryIntent EntryKind = "intent"
	// EntryOutcome is written when an action has ended.
	EntryOutcome EntryKind = "outcome"
	// EntrySeen says that a node was seen on again.
	EntrySeen EntryKind = "seen"
	// EntryCordoned is written before a node is cordoned by this program,
	// EntryUncordoned when it has been uncordoned, or was found to be.
	EntryCordoned   EntryKind = "cordoned"
	EntryUncordoned EntryKind = "uncordoned"
)

// Entry is one line of the journal.
type Entry struct {
	Kind EntryKind `json:"kind"`
	// Op joins an outcome to its intent.
	Op      string    `json:"op,omitempty"`
	Cluster string    `json:"cluster,omitempty"`
	At      time.Time `json:"at"`
	PID     int       `json:"pid"`
	Action  Action    `json:"action,omitempty"`
	Node    string    `json:"node"`
	// Binding is kept in full, so that powering on needs neither the API
	// server nor a look-up. Node.BootID is the boot before the action.
	Binding Binding `json:"binding"`
	// BootID is the boot that was seen (EntrySeen).
	BootID string `json:"bootID,omitempty"`

	// Phase, State, Proof and Text are the outcome's. Sent says that the
	// request may have reached the machine, whatever became of it.
	Phase Phase  `json:"phase,omitempty"`
	State string `json:"state,omitempty"`
	Proof string `json:"proof,omitempty"`
	Sent  bool   `json:"sent,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Certainty says how well it is known that a machine is off.
type Certainty string

// Certainties.
const (
	// LeftOffSeen: it was switched off and seen to be off.
	LeftOffSeen Certainty = "off"
	// LeftOffUncertain: it was asked to switch off, and what became of it
	// was not seen (the program was killed, or the deadline passed).
	LeftOffUncertain Certainty = "uncertain"
)

// CarriedOutWithin is how long after it was asked a machine whose shutdown was
// accepted is expected to go off. One that is on after that stays on.
const CarriedOutWithin = 2 * time.Minute

// LeftOff is a machine that was switched off by this program and has not been
// seen on again.
type LeftOff struct {
	// Entry is the intent to switch it off; its Binding is what powers on.
	Entry
	Certainty Certainty
	// Asked is when it was asked to switch off for the last time.
	Asked time.Time
}

// Journal is the record of everything that is switched, one JSON object a
// line, in a file that several programs may append to at once. Every line is
// on disk (fsync) when the call that writes it returns. It is safe for use by
// several goroutines.
type Journal struct {
	path    string
	cluster string

	mu   sync.Mutex
	file *os.File
	// read is how much of the file fold has seen; left is what it made of it.
	read int64
	left *ledger
}

// JournalName is the journal's file in the state directory.
const JournalName = "power.jsonl"

// OpenJournal opens the journal in dir, which is made (mode 0700) if it is not
// there; the file has mode 0600. cluster names the cluster that entries are
// written for and that LeftOff tells of; several may share one directory.
func OpenJournal(dir, cluster string) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the journal's folder can't be made: %w", err)
	}
	path := filepath.Join(dir, JournalName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the journal can't be opened for writing: %w", err)
	}
	if err := syncDir(dir); err != nil {
		file.Close()
		return nil, fmt.Errorf("the journal's folder can't be synced: %w", err)
	}
	return &Journal{path: path, cluster: cluster, file: file, left: newLedger(cluster)}, nil
}

// syncDir makes a new file's name durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return err // EINVAL: this file system does not sync folders
	}
	return nil
}

// Path is the journal's file.
func (j *Journal) Path() string { return j.path }

// Close closes the file. Nothing can be written afterwards.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}

// SeenOn settles what is open for a node: it was seen on again, with the given
// boot. It writes nothing when the node is not left off, or when bootID is the
// boot that it had before it was switched off (it has then not been off, or
// the API server's view is older than that). An empty bootID settles by the
// word of a power API alone.
func (j *Journal) SeenOn(node, bootID, text string) error {
	left, err := j.LeftOff()
	if err != nil {
		return err
	}
	for _, l := range left {
		if l.Node != node {
			continue
		}
		if bootID != "" && bootID == l.Binding.Node.BootID {
			return nil
		}
		return j.append(Entry{Kind: EntrySeen, Op: l.Op, Node: node, BootID: bootID, Text: text})
	}
	return nil
}

// append writes one entry and syncs it. A line is written whole or not at all
// as far as the file system allows; a torn line of another writer is closed
// off first, so that it can't swallow this one.
func (j *Journal) append(e Entry) error {
	e.Cluster, e.At, e.PID = j.cluster, time.Now().UTC(), os.Getpid()
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("the journal entry can't be written: %w", err)
	}
	line = append(line, '\n')

	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return fmt.Errorf("the journal %s is closed", j.path)
	}
	if err := j.appendLocked(line); err != nil {
		return fmt.Errorf("the journal %s can't be written: %w", j.path, err)
	}
	return nil
}

func (j *Journal) appendLocked(line []byte) error {
	fd := int(j.file.Fd())
	if err := flock(fd); err != nil {
		return err
	}
	defer unix.Flock(fd, unix.LOCK_UN)

	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if size > 0 {
		last := make([]byte, 1)
		if _, err := j.file.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := j.file.Write(line); err != nil {
		// Nobody else writes while we hold the lock: take our torn part back.
		_ = j.file.Truncate(size)
		return err
	}
	return j.file.Sync()
}

// flock takes the lock that writers hold while they append. Another writer
// holds it for one line only.
func flock(fd int) error {
	for {
		err := unix.Flock(fd, unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
