package assembly

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	folderPattern = "lightsout-lab-"
	lockFile      = "lock" // locked as long as the lab lives
	keptFile      = "kept" // says that the folder is to stay
)

// folder is a lab's own folder.
type folder struct {
	path string
	lock *os.File
}

// newFolder makes a folder in parent, after removing those of labs that have
// died there.
func newFolder(parent string) (*folder, error) {
	parent, err := filepath.Abs(cmp.Or(parent, os.TempDir()))
	if err != nil {
		return nil, err
	}
	sweep(parent)
	path, err := os.MkdirTemp(parent, folderPattern)
	if err != nil {
		return nil, fmt.Errorf("make the lab's folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		os.RemoveAll(path)
		return nil, fmt.Errorf("lock the lab's folder: %w", err)
	}
	return &folder{path, lock}, nil
}

// in returns the path of something in the folder.
func (f *folder) in(names ...string) string {
	return filepath.Join(append([]string{f.path}, names...)...)
}

// write writes a file that only its owner can read.
func (f *folder) write(name string, data []byte) error {
	return os.WriteFile(f.in(name), data, 0o600)
}

// remove removes the folder, or marks it as kept.
func (f *folder) remove(keep bool) error {
	defer f.lock.Close()
	if keep {
		return f.write(keptFile, nil)
	}
	return os.RemoveAll(f.path)
}

// sweep removes the folders of this user's labs in parent that nobody holds.
func sweep(parent string) {
	found, err := filepath.Glob(filepath.Join(parent, folderPattern+"*"))
	if err != nil {
		return
	}
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		if s, ok := info.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Getuid() {
			continue
		}
		if _, err := os.Lstat(filepath.Join(path, keptFile)); err == nil {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR, 0)
		if err != nil {
			if os.IsNotExist(err) && time.Since(info.ModTime()) > time.Minute { // died before it made its lock
				os.RemoveAll(path)
			}
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			os.RemoveAll(path)
		}
		lock.Close()
	}
}
