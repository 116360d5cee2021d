package power

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// register keeps, beside the locks, the notes about machines of a cluster that
// were switched off from this host: for all accounts and state folders, and
// without a right in the cluster. It is a Marker, and it outlives a program
// that is killed, but not the host's temporary files. A nil *Locks keeps none.
//
// It is a file of lines, each the note of a node, of which the last counts. A
// torn line is none: what it was to tell of had not begun.
type register struct {
	locks   *Locks
	cluster Cluster
}

const (
	// registerLimit is how much of a register is read, in bytes: the newest.
	registerLimit = 4 << 20
	// registerPart is after how many bytes all notes are written once more, so
	// that they are among the newest.
	registerPart = 1 << 20
)

func (r register) path() string { return r.locks.path("off\x00"+r.cluster.lockName()) + ".off" }

// Note changes the note on a node.
func (r register) Note(_ context.Context, node string, change func(had Mark) (Mark, bool)) error {
	if r.locks == nil {
		return nil
	}
	fail := func(err error) error { return fmt.Errorf("it can't be noted on this host: %w", err) }
	if r.locks.err != nil {
		return fail(r.locks.err)
	}
	had := r.read()[node]
	if _, ok := change(had); !ok {
		return nil // most often there is nothing to do, and perhaps no file
	}
	fd, err := openShared(r.path(), unix.O_RDWR|unix.O_APPEND, 0o666)
	if err != nil {
		return fail(err)
	}
	f := os.NewFile(uintptr(fd), r.path())
	defer f.Close()
	if err := flock(fd, unix.LOCK_EX); err != nil {
		return fail(err)
	}
	marks, err := readRegister(f)
	if err != nil {
		return fail(err)
	}
	m, ok := change(marks[node])
	if !ok || m == marks[node] {
		return nil
	}
	if delete(marks, node); m == (Mark{}) && len(marks) == 0 {
		err = f.Truncate(0)
	} else {
		size, end := f.Seek(0, io.SeekEnd)
		if end != nil {
			return fail(end)
		}
		lines := Noted{node, m}.line()
		if size/registerPart != (size+int64(len(lines)))/registerPart {
			for other, m := range marks {
				lines = append(lines, Noted{other, m}.line()...)
			}
		}
		_, err = f.Write(lines)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// line is one note; it begins a new line, whatever was torn before it.
func (n Noted) line() []byte {
	text, _ := json.Marshal(n) // plain fields
	return append(append([]byte{'\n'}, text...), '\n')
}

// read gives the notes by node; what can't be read is none.
func (r register) read() map[string]Mark {
	if r.locks == nil || r.locks.err != nil {
		return nil
	}
	fd, err := unix.Open(r.path(), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), r.path())
	defer f.Close()
	marks, _ := readRegister(f)
	return marks
}

func readRegister(f *os.File) (map[string]Mark, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a plain file", f.Name()))
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-registerLimit), registerLimit))
	marks := map[string]Mark{}
	for line := range bytes.Lines(text) {
		var n Noted
		if json.Unmarshal(line, &n) != nil || n.Node == "" || Clean(n.Node) != n.Node {
			continue
		}
		if marks[n.Node] = n.Mark; n.Mark == (Mark{}) {
			delete(marks, n.Node)
		}
	}
	return marks, err
}
