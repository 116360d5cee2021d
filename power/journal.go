package power

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	// EntrySeen says that a machine was seen on again.
	EntrySeen EntryKind = "seen"
	// EntryCordoned is written before a node is cordoned by this program,
	// EntryUncordoned when it has been uncordoned, or was found to be.
	EntryCordoned   EntryKind = "cordoned"
	EntryUncordoned EntryKind = "uncordoned"
)

// Entry is one line of the journal.
type Entry struct {
	Kind EntryKind `json:"kind"`
	// Op is the operation's id; it joins an outcome to its intent.
	Op string `json:"op,omitempty"`
	// Cluster is the cluster's name for people; ClusterUID and ClusterCA tell
	// which one it is. Entries of old journals have the name only.
	Cluster    string    `json:"cluster,omitempty"`
	ClusterUID string    `json:"clusterUID,omitempty"`
	ClusterCA  string    `json:"clusterCA,omitempty"`
	At         time.Time `json:"at"`
	PID        int       `json:"pid"`
	// Config is the file with the drivers' settings.
	Config string `json:"config,omitempty"`
	Action Action `json:"action,omitempty"`
	Node   string `json:"node"`
	// Binding is kept in full, so that powering on needs neither the API
	// server nor a look-up. Node.BootID is the boot before the action.
	Binding Binding `json:"binding"`
	// BootID is the boot that was seen (EntrySeen).
	BootID string `json:"bootID,omitempty"`
	// Settles are the ids of the operations that this entry closes: their
	// machine is on, and they can't switch it off any more. It is nil in
	// entries of old journals.
	Settles []string `json:"settles,omitzero"`

	// Phase, State, Proof and Text are the outcome's. Sent says that the
	// request may have reached the machine, whatever became of it.
	Phase Phase  `json:"phase,omitempty"`
	State string `json:"state,omitempty"`
	Proof string `json:"proof,omitempty"`
	Sent  bool   `json:"sent,omitempty"`
	Text  string `json:"text,omitempty"`
	// WasOff is when the operation saw its machine proven off last, also before
	// its intent; zero when it did not, or in entries of older programs.
	WasOff time.Time `json:"wasOff,omitzero"`
}

// Of is the cluster that the entry belongs to.
func (e Entry) Of() Cluster {
	return Cluster{Name: e.Cluster, UID: e.ClusterUID, CA: e.ClusterCA}
}

// CarriedOutWithin is how long after it was asked a machine may still carry a
// shutdown out. systemd gives a shutdown 30 minutes before it cuts it short
// (JobTimeoutSec of poweroff.target).
const CarriedOutWithin = 30 * time.Minute

// Journal is the record of everything that is switched, one JSON object a
// line, in a file that several programs may append to at once, for all clusters
// together. Every line is on disk (fsync) when the call that writes it returns.
// It is safe for use by several goroutines. A nil *Journal is of no known cluster,
// closes nothing, and can't be written.
type Journal struct {
	path   string
	config string
	// unwritable is why nothing can be appended.
	unwritable error

	mu      sync.Mutex
	cluster Cluster
	file    *os.File
	closed  bool
	// tails are what is read: the journal itself comes last, after those of the
	// time when each context's name had one, which are never written.
	tails []*tail
	left  *ledger
	// settles decides whether an operation is over; see settledBy.
	settles func(o *operationLeft, s Seen, carriedOut time.Duration) bool
	// carriedOut is CarriedOutWithin, or what a test can wait for.
	carriedOut time.Duration
}

// JournalName is the journal's file in the state directory.
const JournalName = "power.jsonl"

// OpenJournal opens the journal in dir, which is made (mode 0700) if it is not
// there; the file has mode 0600. c is the cluster that entries are written for
// and that LeftOff tells of; config is the file with the drivers' settings, for
// a later restore. Journals in folders below dir, from the time when there was
// one a context's name, are read as well.
//
// A journal that can't be written can still be read: Unwritable then says why,
// and so does every attempt to write.
func OpenJournal(dir string, c Cluster, config string) *Journal {
	j := &Journal{path: filepath.Join(dir, JournalName), cluster: c, config: config, left: newLedger(), settles: settledBy, carriedOut: CarriedOutWithin}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		j.unwritable = fmt.Errorf("the journal's folder can't be made: %w", err)
	} else if deadLink(j.path) { // which opening would make a new file behind
		j.unwritable = noFile(j.path)
	} else if j.file, err = os.OpenFile(j.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
		j.unwritable = fmt.Errorf("the journal can't be opened for writing: %w", err)
	} else if err := syncDir(dir); err != nil {
		j.unwritable = fmt.Errorf("the journal's folder can't be synced: %w", err)
	}
	old, _ := filepath.Glob(filepath.Join(dir, "*", JournalName)) // only a bad pattern is an error
	for _, path := range old {
		j.tails = append(j.tails, &tail{path: path, old: true})
	}
	j.tails = append(j.tails, &tail{path: j.path})
	return j
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

// Config is the file with the drivers' settings that entries are written with.
func (j *Journal) Config() string { return j.config }

// Unwritable says why nothing can be written; nil when it can be tried.
func (j *Journal) Unwritable() error { return j.unwritable }

// Identify says more precisely which cluster the journal is used for, as soon
// as that is known. Fields that are empty leave what was known.
func (j *Journal) Identify(c Cluster) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cluster = Cluster{Name: cmp.Or(c.Name, j.cluster.Name), UID: cmp.Or(c.UID, j.cluster.UID), CA: cmp.Or(c.CA, j.cluster.CA)}
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

// Close closes the file. Nothing can be written or read afterwards.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	for _, t := range j.tails {
		_ = t.file.Close() // those that were never opened are no matter
	}
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}

// Cordoned writes down that this program is about to cordon a node, which was
// not cordoned before. Nothing must be changed when it returns an error.
func (j *Journal) Cordoned(node, text string) error {
	return j.append(Entry{Kind: EntryCordoned, Node: node, Text: Clean(text)})
}

// Uncordoned settles what Cordoned wrote: the node has been uncordoned, or was
// found not to be cordoned any more, or is gone.
func (j *Journal) Uncordoned(node, text string) error {
	return j.append(Entry{Kind: EntryUncordoned, Node: node, Text: Clean(text)})
}

// Begin makes sure that the journal has a first line, by which it is known again.
func (j *Journal) Begin() error {
	if j.id() != "" {
		return nil
	}
	return j.append(Entry{Kind: EntrySeen, Settles: []string{"begin-" + newOp()}, Text: "the journal begins"})
}

// id tells this journal from one that is put in its place after it is lost: it is
// the first line, which no other has. It is empty while there is none.
func (j *Journal) id() string {
	if noFile(j.path) != nil {
		return ""
	}
	f, err := os.Open(j.path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, entryLimit)).ReadString('\n')
	if err != nil {
		return ""
	}
	return line
}

// append writes one entry and syncs it. A line is written whole or not at all
// as far as the file system allows; a torn line of another writer is closed
// off first, so that it can't swallow this one.
func (j *Journal) append(e Entry) error {
	if j == nil {
		return errNoJournal
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if e.Cluster == "" {
		e.Cluster, e.ClusterUID, e.ClusterCA = j.cluster.Name, j.cluster.UID, j.cluster.CA
	}
	e.At, e.PID = time.Now().UTC(), os.Getpid()
	if e.Config == "" {
		e.Config = j.config
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("the journal entry can't be written: %w", err)
	}
	line = append(withSum(line), '\n')
	switch {
	case j.closed:
		return fmt.Errorf("the journal %s is closed", j.path)
	case j.unwritable != nil:
		return j.unwritable
	}
	if err := j.appendLocked(line); err != nil {
		return fmt.Errorf("the journal %s can't be written: %w", j.path, err)
	}
	return nil
}

func (j *Journal) appendLocked(line []byte) error {
	fd := int(j.file.Fd())
	if err := flock(fd, unix.LOCK_EX); err != nil {
		return err
	}
	defer unix.Flock(fd, unix.LOCK_UN)

	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	// What is written to a file without a name nobody finds again.
	if there, err := os.Stat(j.path); err != nil || !os.SameFile(info, there) {
		return errors.New("it has been removed, or another put in its place, since this program began; start it anew")
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

// flock takes a lock, in spite of signals. That of a journal or a register another
// writer holds for one line only.
func flock(fd, how int) error {
	for {
		err := unix.Flock(fd, how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Cluster says which cluster something belongs to. Name is for people: many
// clusters share one (every kubeadm cluster is kubernetes-admin@kubernetes), so
// it identifies nothing by itself.
type Cluster struct {
	// Name is the kubeconfig context's name.
	Name string
	// UID is the UID of the namespace kube-system; empty while it is not known.
	UID string
	// CA is a hash of the cluster's certificate authority; empty when the
	// kubeconfig holds none.
	CA string
}

// Same reports whether a and b are one cluster: by the UID where both have
// one, else by the CA, and by the name only where neither says more.
func (a Cluster) Same(b Cluster) bool {
	switch {
	case a.UID != "" && b.UID != "":
		return a.UID == b.UID
	case a.CA != "" && b.CA != "":
		return a.CA == b.CA
	}
	return a.Name == b.Name
}

// Proves reports whether a and b are one cluster by as much as this program
// can tell: by the name only where it knows no more of either.
func (a Cluster) Proves(b Cluster) bool {
	bare := a.UID+a.CA+b.UID+b.CA == ""
	return a.Same(b) && (a.UID != "" && b.UID != "" || a.CA != "" && b.CA != "" || bare)
}

// lockName is what programs that know the cluster in different ways agree on:
// the CA is in every kubeconfig, the UID known only to who has asked.
func (a Cluster) lockName() string { return cmp.Or(a.CA, a.UID, a.Name) }
