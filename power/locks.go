package power

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lightsout/internal/text"
)

// LockDir is where the programs of all accounts on one host keep their locks.
const LockDir = "/tmp/lightsout-locks"

// lockPause is between two tries to take a lock that somebody else holds.
const lockPause = 100 * time.Millisecond

// errLocked reports that another program, or another operation, holds a lock.
var errLocked = errors.New("another lightsout on this host is busy with it")

// Locks keeps several programs on one host from switching at once: it has a lock for
// each machine, and one for the cluster that a program holds while it judges. A lock is
// a flock, so it ends with its program, even after a crash. It is safe for concurrent
// use; a nil *Locks locks nothing.
type Locks struct {
	dir string
	err error // why the folder can't be used
}

// OpenLocks uses dir, and creates it for all accounts if it is missing. If it is
// unusable, every lock fails with the reason: lightsout then switches nothing off, and
// powers on without locks.
func OpenLocks(dir string) *Locks {
	err := os.Mkdir(dir, 0o777)
	info, unseen := os.Lstat(dir)
	switch {
	case err == nil:
		err = os.Chmod(dir, 0o777|os.ModeSticky)
	case unseen == nil && info.IsDir():
		err = nil
	case unseen == nil:
		err = fmt.Errorf("%s is not a folder", dir)
	}
	return &Locks{dir: dir, err: err}
}

func (l *Locks) path(name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(l.dir, hex.EncodeToString(sum[:12]))
}

// openShared opens a file for all accounts. It opens an existing file without O_CREAT,
// which is forbidden for others' files in a folder that all may write to.
func openShared(path string, flags int, mode uint32) (int, error) {
	flags |= unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
	fd, err := unix.Open(path, flags|unix.O_CREAT|unix.O_EXCL, mode)
	if errors.Is(err, unix.EEXIST) {
		return unix.Open(path, flags, 0)
	}
	if err == nil {
		_ = unix.Fchmod(fd, mode) // whatever the umask: others must be able to use it
	}
	return fd, err
}

// try takes one lock if it is free. Otherwise the error is errLocked and names the
// holder. free releases the lock; call it once.
func (l *Locks) try(name string) (free func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	fd, err := -1, l.err
	if err == nil {
		// The holder writes its name into the file, if it may.
		if fd, err = openShared(l.path(name), unix.O_RDWR, 0o666); errors.Is(err, unix.EACCES) {
			fd, err = openShared(l.path(name), unix.O_RDONLY, 0o666)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("it can't be locked against other programs: %w", err)
	}
	if err = flock(fd, unix.LOCK_EX|unix.LOCK_NB); err == nil {
		_, _ = unix.Pwrite(fd, []byte(self()+time.Now().Format(time.DateTime+" MST")+"\n"), 0)
		return func() {
			_ = unix.Ftruncate(fd, 0)
			_ = unix.Close(fd)
		}, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("%w (%s)", errLocked, nameIn(fd))
	}
	_ = unix.Close(fd)
	return nil, err
}

// self begins the name of this program in the lock files that it holds.
func self() string { return fmt.Sprintf("pid %d of %s, since ", os.Getpid(), account()) }

// nameIn is the name of the holder in a lock file.
func nameIn(fd int) string {
	text := make([]byte, 200)
	n, _ := unix.Pread(fd, text, 0)
	by, _, _ := strings.Cut(string(text[:max(n, 0)]), "\n")
	return cmp.Or(Clean(by), "its name is unknown")
}

// tryAll takes several locks, or none of them.
func (l *Locks) tryAll(names []string) (free func(), err error) {
	var held []func()
	free = func() {
		for _, f := range slices.Backward(held) {
			f()
		}
	}
	for _, name := range names {
		f, err := l.try(name)
		if err != nil {
			free()
			return nil, err
		}
		held = append(held, f)
	}
	return free, nil
}

// take waits for locks until ctx ends, and then returns errLocked. It holds none of
// them while it waits for another.
func (l *Locks) take(ctx context.Context, names []string) (free func(), err error) {
	for {
		free, err = l.tryAll(names)
		if !errors.Is(err, errLocked) || !Sleep(ctx, lockPause) {
			return free, err
		}
	}
}

// machineLock and clusterLock return the names of the locks of a machine and of the
// cluster: one for each way in which another program may know the cluster.
func machineLock(c Cluster, m Machine) []string { return lockNames("machine", c, m.key()) }
func clusterLock(c Cluster) []string            { return lockNames("cluster", c) }

func lockNames(kind string, c Cluster, more ...string) []string {
	return text.Each(c.keys(), func(key string) string { return strings.Join(append([]string{kind, key}, more...), "\x00") })
}

// heldBy names the program that holds one of several locks; empty if none does. Whoever asks holds nothing
// that a second one who asks would see; whoever takes a lock tries again.
func (l *Locks) heldBy(names []string) (by string) {
	if l == nil {
		return ""
	}
	for _, name := range names {
		fd, err := unix.Open(l.path(name), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			continue // nobody has ever taken it, or nobody can
		}
		if errors.Is(flock(fd, unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK) {
			by = nameIn(fd)
		}
		_ = unix.Close(fd)
	}
	return by
}

// lockedElsewhere reports whether another program on this host is switching a
// node's machine.
func (s *Switcher) lockedElsewhere(b Binding) bool {
	return slices.ContainsFunc(b.machines(), func(m *Machine) bool {
		return s.Fleet.cfg.Locks.heldBy(machineLock(s.Fleet.cluster(), *m)) != ""
	})
}

// LockTrial keeps other programs on this host from a trial of the cluster until end is called. The error names
// the one that runs a trial. A nil Fleet and a dry run lock nothing.
func (f *Fleet) LockTrial() (end func(), err error) {
	if f == nil || f.cfg.DryRun {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*lockPause)
	defer cancel()
	return f.cfg.Locks.take(ctx, lockNames("trial", f.cluster()))
}
