package power

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// EntryKind is the kind of a journal entry.
type EntryKind string

// Kinds of entries.
const (
	// EntryIntent is written before the first request that carries an action out.
	EntryIntent EntryKind = "intent"
	// EntryOutcome is written when an action has ended.
	EntryOutcome EntryKind = "outcome"
	// EntrySeen records what was seen of a machine or a node, if that changes what the journal's facts
	// say of it.
	EntrySeen EntryKind = "seen"
	// EntryChecked records that machines were polled because of damaged lines.
	EntryChecked EntryKind = "checked"
	// EntryCordoned is written before a node is cordoned by this program,
	// EntryUncordoned when it has been uncordoned, or was found to be.
	EntryCordoned   EntryKind = "cordoned"
	EntryUncordoned EntryKind = "uncordoned"
	// EntryAnnotating comes before nodes are annotated; Op is the annotation's ID.
	EntryAnnotating EntryKind = "annotating"
)

// Entry is one line of the journal.
type Entry struct {
	Kind EntryKind `json:"kind"`
	// Op is the operation's id; it joins an outcome to its intent.
	Op string `json:"op,omitempty"`
	// Cluster is the cluster that the entry belongs to.
	Cluster Cluster   `json:"cluster,omitzero"`
	At      time.Time `json:"at"`
	PID     int       `json:"pid"`
	// Config is the file with the drivers' settings.
	Config string `json:"config,omitempty"`
	// Settings identifies the drivers' settings, whatever file they are in.
	Settings string `json:"settings,omitempty"`
	Action   Action `json:"action,omitempty"`
	Node     string `json:"node"`
	// Binding is kept in full, so that powering on needs neither the API
	// server nor a look-up. Node.BootID is the boot before the action.
	Binding Binding `json:"binding"`
	// Heard is the time of the node's last heartbeat before the judgement
	// (EntryIntent); zero if unknown.
	Heard time.Time `json:"heard,omitzero"`
	// RequestedAt is the time of the poll whose answer is the entry's evidence.
	RequestedAt time.Time `json:"asked,omitzero"`
	// ReadySince is since when the node that was seen was Ready (EntrySeen of a node).
	ReadySince time.Time `json:"readySince,omitzero"`
	// Checked names damaged lines (EntryChecked).
	Checked []string `json:"checked,omitempty"`

	// Stage ("phase" in the file), State, Proof and Text describe the outcome, or what was seen.
	Stage Stage  `json:"phase,omitempty"`
	State string `json:"state,omitempty"`
	Proof string `json:"proof,omitempty"`
	Text  string `json:"text,omitempty"`
	// Arrival is that of the request that may have reached the machine (EntryOutcome).
	Arrival Arrival `json:"arrival,omitzero"`
	// WasOff is when the operation saw its machine proven off last, also before
	// its intent; zero when it did not.
	WasOff time.Time `json:"wasOff,omitzero"`
}

// Running names the program that asked the machine to go off, or cordoned the node, and the time, with what undoing that
// ends, if it is another one than this and still runs; otherwise it is empty.
func (e Entry) Running() string {
	if e.PID == 0 || e.PID == os.Getpid() || errors.Is(unix.Kill(e.PID, 0), unix.ESRCH) {
		return ""
	}
	undoing := "powering on ends its trial, if it runs one"
	if e.Kind == EntryCordoned {
		undoing = "it may be draining the node"
	}
	return fmt.Sprintf("%s by pid %d, another lightsout, which is running: %s", e.At.Local().Format(time.DateTime+" MST"), e.PID, undoing)
}

// CarriedOutWithin is how long after it was asked a machine may still carry a
// shutdown out. systemd gives a shutdown 30 minutes before it cuts it short
// (JobTimeoutSec of poweroff.target).
const CarriedOutWithin = 30 * time.Minute

// Journal is the record of everything that is switched, one JSON object a
// line, in a file that several programs may append to at once, for all clusters
// together. Every line is on disk (fsync) when the call that writes it returns, unless IsLate reports of its
// error that lightsout writes it later: powering on does not wait for a disk that hangs.
// It is safe for use by several goroutines. A nil *Journal is of no known cluster, and nothing was seen for it.
type Journal struct {
	path   string
	config string
	// unwritable is why nothing can be appended.
	unwritable error
	// Disk writes the journal; OpenJournal sets the system's. Change it before the first write.
	Disk Disk
	// Settings identifies the drivers' settings in new entries. Set it before the first write.
	Settings string

	// writing is held while an entry is written, which may take long. Who needs both takes it first.
	writing mutex
	file    *os.File
	// waiting is not 0 while entries are being written, or wait for that.
	waiting atomic.Int32

	mu      mutex
	cluster Cluster
	closed  bool
	reading *os.File // nil: it was not there yet
	read    int64    // how much of it has been read
	left    *journalState
}

// JournalName is the journal's file in the state directory.
const JournalName = "power.jsonl"

// OpenJournal opens the journal in dir, which is made (mode 0700) if it is not there;
// the file has mode 0600. c is the cluster of new entries and of LeftOff; config is the
// file with the drivers' settings, for a later restore.
//
// A journal that cannot be written can still be read: every attempt to write returns the reason.
func OpenJournal(dir string, c Cluster, config string) *Journal {
	j := JournalToRead(dir, c)
	j.config, j.unwritable = config, j.open(dir)
	return j
}

// errOnlyRead is why a journal of JournalToRead cannot be written.
var errOnlyRead = errors.New("the journal is open for reading alone")

// JournalToRead is OpenJournal for a program that writes nothing: it makes neither folder nor file.
func JournalToRead(dir string, c Cluster) *Journal {
	path := filepath.Join(dir, JournalName)
	return &Journal{path: path, Disk: systemDisk{}, writing: newMutex(), mu: newMutex(), cluster: c, unwritable: errOnlyRead, left: newJournalState(CarriedOutWithin)}
}

// open opens the file for writing, and creates it and its folder if they are missing.
func (j *Journal) open(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the journal's folder can't be made: %w", err)
	}
	if deadLink(j.path) { // opening it would create a new file at its target
		return noFile(j.path)
	}
	file, err := os.OpenFile(j.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("the journal can't be opened for writing: %w", err)
	}
	j.file = file // syncing its first line makes its name durable too
	return nil
}

// Path is the journal's file.
func (j *Journal) Path() string { return j.path }

// Config is the file with the drivers' settings that entries are written with.
func (j *Journal) Config() string { return j.config }

// Identify adds facts about the journal's cluster as soon as they are known. Empty
// fields leave the known ones unchanged.
func (j *Journal) Identify(c Cluster) {
	j.mu.Lock()
	defer j.mu.Unlock()
	was := j.cluster
	j.cluster = Cluster{Name: cmp.Or(c.Name, was.Name), UID: cmp.Or(c.UID, was.UID), CA: cmp.Or(c.CA, was.CA), Server: cmp.Or(c.Server, was.Server)}
}

// Cluster is the cluster that the journal is used for.
func (j *Journal) Cluster() Cluster {
	if j == nil {
		return Cluster{}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.cluster
}

// Close waits for the entries that are being written, and closes the file. Nothing can be written or read
// afterwards. If the disk hangs, Close returns an error after diskWait, and the system closes the file when
// the program ends.
func (j *Journal) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), diskWait)
	defer cancel()
	for j.waiting.Load() > 0 && Sleep(ctx, closePoll) {
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	_ = j.reading.Close() // if it was never opened, that is no matter
	if j.waiting.Load() > 0 {
		return fmt.Errorf("the journal %s could not be closed within %s, and may lack its last entries: check its disk", j.path, diskWait)
	}
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}

// closePoll is the pause of Close before it looks again for entries that are being written.
const closePoll = 20 * time.Millisecond

// Cordoned writes down that this program is about to cordon a node, which was
// not cordoned before. before is the action that the cordon prepares, and whose undoing ends it, or
// ForItself. Nothing must be changed when it returns an error.
func (j *Journal) Cordoned(node string, before Action, why string) error {
	return j.append(Entry{Kind: EntryCordoned, Node: node, Action: before, Text: Clean(why)})
}

// Uncordoned settles what Cordoned wrote: the node has been uncordoned, or was
// found not to be cordoned any more, or is gone.
func (j *Journal) Uncordoned(node, why string) error {
	return j.appendSoon(Entry{Kind: EntryUncordoned, Node: node, Text: Clean(why)})
}

// annotated reports whether the journal has the annotation with this ID. It lacks one of its own if
// somebody has put back an older copy of the journal.
func (j *Journal) annotated(id string) bool {
	err := j.lock()
	defer j.mu.Unlock()
	return err == nil && j.left.annotated[id]
}

// append writes one entry and syncs it. A line is written whole or not at all
// as far as the file system allows; a torn line of another writer is closed
// off first, so that it can't swallow this one.
func (j *Journal) append(e Entry) error {
	j.waiting.Add(1)
	defer j.waiting.Add(-1)
	j.writing.Lock()
	defer j.writing.Unlock()
	line, err := j.line(e)
	if err != nil {
		return err
	}
	if err := j.appendLocked(line); err != nil {
		return fmt.Errorf("the journal %s can't be written: %w", j.path, err)
	}
	return nil
}

// line returns the line of an entry that is written now.
func (j *Journal) line(e Entry) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return nil, fmt.Errorf("the journal %s is closed", j.path)
	case j.unwritable != nil:
		return nil, j.unwritable
	}
	e.Cluster = cmp.Or(e.Cluster, j.cluster)
	e.PID = os.Getpid()
	e.At = cmp.Or(e.At, time.Now().UTC())
	e.Config, e.Settings = cmp.Or(e.Config, j.config), cmp.Or(e.Settings, j.Settings)
	line, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("the journal entry can't be written: %w", err)
	}
	return append(withSum(line), '\n'), nil
}

func (j *Journal) appendLocked(line []byte) error {
	if err := j.Disk.Lock(j.file); err != nil {
		return err
	}
	defer unix.Flock(int(j.file.Fd()), unix.LOCK_UN)

	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	// What is written to a file without a name nobody finds again.
	if there, err := os.Stat(j.path); err != nil || !os.SameFile(info, there) {
		return errors.New("it has been removed, or another put in its place, since this program started; start it again")
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
	if _, err := j.Disk.Write(j.file, line); err != nil {
		// Nobody else writes while we hold the lock: take our torn part back.
		_ = j.file.Truncate(size)
		return err
	}
	return j.Disk.Sync(j.file)
}

// flock takes a lock, in spite of signals.
func flock(fd, how int) error {
	for {
		err := unix.Flock(fd, how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
