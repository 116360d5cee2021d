package power

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Disk writes the journal. Another one than the system's may be slow, full or gone.
type Disk interface {
	// Lock waits until no other program writes to f, which each does for one line. Closing f releases the lock.
	Lock(f *os.File) error
	Write(f *os.File, b []byte) (int, error)
	Sync(f *os.File) error
}

// systemDisk is the disk of the operating system.
type systemDisk struct{}

func (systemDisk) Write(f *os.File, b []byte) (int, error) { return f.Write(b) }
func (systemDisk) Sync(f *os.File) error                   { return f.Sync() }

// journalWait bounds the wait for other programs that write to the journal: one that
// was stopped meanwhile must not delay switching. It is shorter than diskWait, so that powering on reports it.
const journalWait = 7 * time.Second

func (systemDisk) Lock(f *os.File) error {
	for began := time.Now(); time.Since(began) < journalWait; time.Sleep(lockPause / 10) {
		if err := flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
	}
	return fmt.Errorf("another program holds %s and is stuck", f.Name())
}

// mutex is a lock whose waiters a test in virtual time can see, unlike those of a
// sync.Mutex: its holder may wait for a slow disk.
type mutex chan struct{}

func newMutex() mutex   { return make(mutex, 1) }
func (m mutex) Lock()   { m <- struct{}{} }
func (m mutex) Unlock() { <-m }
