package power

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// LockDir is where the programs of all accounts on one host keep their locks.
const LockDir = "/tmp/lightsout-locks"

// lockPause is between two tries to take a lock that somebody else holds.
const lockPause = 100 * time.Millisecond

// errLocked says that another program, or another operation, holds a lock.
var errLocked = errors.New("another lightsout on this host is switching it")

// Locks keeps several programs on one host from switching at once: one lock a
// machine, and one a cluster for the moment of judging. A lock is a flock, so
// it ends with the program that holds it, however that ends. It is safe for use
// by several goroutines; a nil *Locks locks nothing.
type Locks struct {
	dir string
	err error // why the folder can't be used
}

// OpenLocks uses dir, which is made for all accounts if it is not there. Where
// it can't be used, every lock fails and says why: nothing is switched off then,
// and powering on goes on without.
func OpenLocks(dir string) *Locks {
	err := os.Mkdir(dir, 0o777)
	if err == nil {
		err = os.Chmod(dir, 0o777|os.ModeSticky)
	} else if errors.Is(err, os.ErrExist) {
		err = nil
	}
	if err == nil {
		var info os.FileInfo
		if info, err = os.Lstat(dir); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a folder", dir)
		}
	}
	return &Locks{dir: dir, err: err}
}

func (l *Locks) path(name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(l.dir, hex.EncodeToString(sum[:12]))
}

// openShared opens a file for all accounts. It is made without O_CREAT on what
// is there: that is forbidden for others' files in a folder that all may write to.
func openShared(path string, flags int, mode uint32) (int, error) {
	flags |= unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
	for range 3 {
		fd, err := unix.Open(path, flags, 0)
		if !errors.Is(err, unix.ENOENT) {
			return fd, err
		}
		fd, err = unix.Open(path, flags|unix.O_CREAT|unix.O_EXCL, mode)
		if err == nil {
			_ = unix.Fchmod(fd, mode) // whatever the umask: others must be able to use it
			return fd, nil
		}
		if !errors.Is(err, unix.EEXIST) {
			return -1, err
		}
	}
	return -1, unix.ENOENT
}

// try takes a lock that is free; the error is errLocked when it is not. free
// gives it back and may be called once.
func (l *Locks) try(name string) (free func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	fd, err := -1, l.err
	if err == nil {
		fd, err = openShared(l.path(name), unix.O_RDONLY, 0o644)
	}
	if err != nil {
		return nil, fmt.Errorf("it can't be locked against other programs: %w", err)
	}
	if err = flock(fd, unix.LOCK_EX|unix.LOCK_NB); err == nil {
		return func() { _ = unix.Close(fd) }, nil
	}
	_ = unix.Close(fd)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errLocked
	}
	return nil, err
}

// take waits for a lock until ctx ends; the error is errLocked then.
func (l *Locks) take(ctx context.Context, name string) (free func(), err error) {
	for {
		free, err = l.try(name)
		if !errors.Is(err, errLocked) || !sleep(ctx, lockPause) {
			return free, err
		}
	}
}

// held reports whether somebody holds a lock.
func (l *Locks) held(name string) bool {
	free, err := l.try(name)
	if err == nil {
		free()
	}
	return errors.Is(err, errLocked)
}

func machineLock(c Cluster, m Machine) string {
	return "machine\x00" + c.lockName() + "\x00" + m.key()
}

func clusterLock(c Cluster) string { return "cluster\x00" + c.lockName() }

// lockedElsewhere reports whether another program on this host is switching a
// node's machine.
func (s *Switcher) lockedElsewhere(b Binding) bool {
	locks := s.Fleet.cfg.Locks
	return locks != nil && slices.ContainsFunc(b.machines(), func(m *Machine) bool { return locks.held(machineLock(s.Fleet.cluster(), *m)) })
}
