package power

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// register keeps, beside the locks, the notes about machines of a cluster that
// were switched off from this host: for all accounts and state folders, and
// without a right in the cluster. It is a NoteStore, and it outlives a program
// that is killed, but not the host's temporary files. A nil *Locks keeps none.
//
// All clusters share one file. Each line is the note of a node with its cluster, and
// the last line of a node counts. A torn line is ignored: its operation had not begun.
type register struct {
	locks   *Locks
	cluster Cluster
}

const (
	// registerName is the register's file in the folder of the locks.
	registerName = "registered.jsonl"
	// registerLimit is how much of a register is read, in bytes: the newest.
	registerLimit = 4 << 20
	// registerPart is after how many bytes all notes are written once more, so
	// that they are among the newest.
	registerPart = 1 << 20
	// registerWait bounds the wait for other programs that write to the register: they
	// hold it for one line each, unless one has stopped.
	registerWait = 2 * time.Second
)

// Registered is a note of this host's register.
type Registered struct {
	NodeNote
	Cluster Cluster `json:"cluster,omitzero"`
}

func (r register) path() string { return filepath.Join(r.locks.dir, registerName) }

// Change changes the note on a node. It waits a few seconds at most for other writers.
func (r register) Change(ctx context.Context, node string, change func(had Note) (Note, bool)) error {
	if r.locks == nil {
		return nil
	}
	fail := func(err error) error { return fmt.Errorf("lightsout cannot write the register of this host: %w", err) }
	had, err := r.locks.Registered()
	if err != nil {
		return fail(err)
	}
	if _, ok := change(r.of(had)[node]); !ok {
		return nil // most often there is nothing to do, and perhaps no file
	}
	f, err := r.open(ctx)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	noted, damaged, err := readRegister(f)
	if err != nil {
		return fail(err)
	}
	was := r.of(noted)[node]
	m, ok := change(was)
	if !ok || m == was {
		return nil
	}
	line := Registered{NodeNote{Node: node, Note: m}, r.knownCluster(noted, node)}
	if noted = line.fold(noted); len(noted) == 0 && damaged == 0 { // a damaged line may name a machine
		err = f.Truncate(0)
	} else {
		err = r.append(f, line, noted)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// open opens the register and locks it for this program.
func (r register) open(ctx context.Context) (*os.File, error) {
	fd, err := openShared(r.path(), unix.O_RDWR|unix.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), r.path())
	if err := lockWithin(ctx, r.locks.Disk, f, registerWait); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// of returns the notes of the register's cluster, by node.
func (r register) of(noted []Registered) map[string]Note {
	notes := map[string]Note{}
	for _, n := range noted {
		if n.Cluster.Same(r.cluster) {
			notes[n.Node] = n.Note
		}
	}
	return notes
}

// knownCluster returns the cluster with what the note on a node already says of it: a
// program that does not know the UID must not hide the note from those that know only
// the UID.
func (r register) knownCluster(noted []Registered, node string) Cluster {
	known := r.cluster
	for _, n := range noted {
		if n.Node == node && n.Cluster.Same(r.cluster) {
			known = n.Cluster.with(r.cluster)
		}
	}
	return known
}

// read returns the notes of the register's cluster, by node; none if it is unreadable.
func (r register) read() map[string]Note {
	noted, _ := r.locks.Registered()
	return r.of(noted)
}

// fold replaces older notes by n.
func (n Registered) fold(noted []Registered) []Registered {
	noted = slices.DeleteFunc(noted, func(o Registered) bool { return o.Node == n.Node && o.Cluster.Same(n.Cluster) })
	if n.Note != (Note{}) {
		noted = append(noted, n)
	}
	return noted
}

// append writes one note; from time to time it rewrites the whole file.
func (r register) append(f *os.File, line Registered, noted []Registered) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	lines := line.line()
	if size/registerPart != (size+int64(len(lines)))/registerPart {
		for _, other := range noted {
			lines = append(lines, other.line()...)
		}
	}
	_, err = orSystem(r.locks.Disk).Write(f, lines)
	return err
}

// line is one note; it begins a new line, whatever was torn before it.
func (n Registered) line() []byte {
	text, _ := json.Marshal(n) // plain fields
	return append(append([]byte{'\n'}, text...), '\n')
}

// Registered returns the notes of all clusters that this host keeps. A missing register
// is empty; the error is the reason why one is unreadable.
func (l *Locks) Registered() ([]Registered, error) {
	noted, _, err := l.readRegister()
	return noted, err
}

// RegisterDamage returns the register's file and the number of its lines that lightsout
// cannot read. Such a line may have named a machine that is off, or was torn when a program
// was killed, which then sent no request.
func (l *Locks) RegisterDamage() (path string, lines int) {
	_, lines, _ = l.readRegister()
	return register{locks: l}.path(), lines
}

func (l *Locks) readRegister() (noted []Registered, damaged int, err error) {
	if l == nil {
		return nil, 0, nil
	}
	if l.err != nil {
		return nil, 0, l.err
	}
	path := register{locks: l}.path()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s can't be read: %w", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return readRegister(f)
}

// readRegister reads the notes, and counts the lines that it cannot read.
func readRegister(f *os.File) (noted []Registered, damaged int, err error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, 0, errors.Join(err, fmt.Errorf("%s is not a plain file", f.Name()))
	}
	from := max(0, info.Size()-registerLimit)
	text, err := io.ReadAll(io.NewSectionReader(f, from, registerLimit))
	if from > 0 { // the first line is only a part
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	for line := range bytes.Lines(text) {
		var n Registered
		switch {
		case json.Unmarshal(line, &n) == nil && n.Node != "" && Clean(n.Node) == n.Node:
			n.Cluster.Name = Clean(n.Cluster.Name)
			noted = n.fold(noted)
		case len(bytes.TrimSpace(line)) > 0:
			damaged++
		}
	}
	return noted, damaged, err
}
