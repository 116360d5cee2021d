package power

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Disk writes the journal. A nil Disk is the system's; another one
// may be slow, full or gone.
type Disk interface {
	// Lock waits until no other program writes to f. Closing f releases the lock.
	Lock(f *os.File) error
	Write(f *os.File, b []byte) (int, error)
	Sync(f *os.File) error
}

// systemDisk is the disk of the operating system.
type systemDisk struct{}

func (systemDisk) Lock(f *os.File) error                   { return flock(int(f.Fd()), unix.LOCK_EX) }
func (systemDisk) Write(f *os.File, b []byte) (int, error) { return f.Write(b) }
func (systemDisk) Sync(f *os.File) error                   { return f.Sync() }

// orSystem returns d, or the system's disk if d is nil.
func orSystem(d Disk) Disk {
	if d == nil {
		return systemDisk{}
	}
	return d
}

// lockWithin locks a file that other programs lock for one line each. After wait it
// returns the error that another program, which may have stopped, still holds the lock.
func lockWithin(d Disk, f *os.File, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	for {
		err := flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return orSystem(d).Lock(f)
		case !errors.Is(err, unix.EWOULDBLOCK):
			return err
		case !sleep(ctx, lockPause/10):
			return fmt.Errorf("another program holds %s and is stuck", f.Name())
		}
	}
}

// mutex is a lock whose waiters a test in virtual time can see, unlike those of a
// sync.Mutex: its holder may wait for a slow disk.
type mutex chan struct{}

func newMutex() mutex   { return make(mutex, 1) }
func (m mutex) Lock()   { m <- struct{}{} }
func (m mutex) Unlock() { <-m }
