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

type registered struct {
	Node string `json:"node"`
	Mark Mark   `json:"mark"`
}

// registerLimit is how much of a register is read, in bytes.
const registerLimit = 1 << 20

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
	if err := flock(fd); err != nil {
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
		line, _ := json.Marshal(registered{node, m}) // plain fields
		_, err = f.Write(append([]byte{'\n'}, append(line, '\n')...))
	}
	if err != nil {
		return fail(err)
	}
	return nil
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
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a plain file", f.Name()))
	}
	text, err := io.ReadAll(io.LimitReader(f, registerLimit))
	marks := map[string]Mark{}
	for line := range bytes.Lines(text) {
		var r registered
		if json.Unmarshal(line, &r) != nil || r.Node == "" || Clean(r.Node) != r.Node {
			continue
		}
		if marks[r.Node] = r.Mark; r.Mark == (Mark{}) {
			delete(marks, r.Node)
		}
	}
	return marks, err
}
