package text

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// OpenFile is os.Open, but refuses a file that is not regular before it opens it:
// opening a pipe may block for ever.
func OpenFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return os.Open(path)
}

// ReadFile is os.ReadFile for what OpenFile opens.
func ReadFile(path string) ([]byte, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// WriteFile creates a file with mode 0600, complete or not at all.
func WriteFile(path string, write func(*os.File) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".lightsout-*")
	if err == nil {
		defer os.Remove(tmp.Name())
		err = errors.Join(write(tmp), tmp.Close())
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("%s can't be written: %w", path, err)
	}
	return nil
}
