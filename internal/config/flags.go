package config

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
)

// Name is what the file is called.
const Name = "lightsout.yaml"

// Flags are the flags that choose the file and stand for fields of it.
type Flags struct {
	// File is the file's path; empty looks in the usual places.
	File string
	// The others replace the field of their name where they are given.
	Kubeconfig, Context, Bastion, State string
	Namespaces                          []string
	// AllNamespaces counts more than Namespaces and those of the file.
	AllNamespaces bool
}

// Add defines the flags in a flag set, but for those of Bound.
func (f *Flags) Add(s *pflag.FlagSet) {
	s.StringVar(&f.File, "config", "", "config `file` (default ./lightsout.yaml, then the one in the user's config folder)")
	s.StringVar(&f.Kubeconfig, "kubeconfig", "", "kubeconfig `file` (default as kubectl: $KUBECONFIG, ~/.kube/config)")
	s.StringVar(&f.Context, "context", "", "`name` of the kubeconfig context (default the current one)")
	s.StringVar(&f.Bastion, "bastion", "", "go through this ssh `host`: user@host:port or an alias")
	s.StringVar(&f.State, "state", "", "`folder` for journals and records (default ~/.local/state/lightsout)")
}

// Bound defines the flags that bound what is watched.
func (f *Flags) Bound(s *pflag.FlagSet) {
	s.StringSliceVarP(&f.Namespaces, "namespace", "n", nil, "watch only these `namespaces` (default all)")
	s.BoolVarP(&f.AllNamespaces, "all-namespaces", "A", false, "watch all namespaces, whatever the config file says")
}

// Path is where the file is: File, or without it ./lightsout.yaml, else the one in
// the user's configuration folder. It is empty where there is none.
func (f Flags) Path() string {
	if f.File != "" {
		return f.File
	}
	for _, p := range []string{Name, defaultPath()} {
		if _, err := os.Stat(p); !errors.Is(err, os.ErrNotExist) {
			return p
		}
	}
	return ""
}

// ReadFile reads a config file, which may be a pipe. Of one that is too large it
// reads no more than shows that.
func ReadFile(path string) ([]byte, error) {
	data, err := readUpTo(path, maxSize)
	if err != nil {
		return nil, fmt.Errorf("the config file can't be read: %w", err)
	}
	return data, nil
}

// readUpTo reads a file, and no more of it than one byte above most.
func readUpTo(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// Read reads the file at Path, if any, and puts the flags over it. Errors name the
// file, the line and the field.
func (f Flags) Read() (*Config, error) {
	c := &Config{}
	if path := f.Path(); path != "" {
		data, err := ReadFile(path)
		if err != nil {
			return nil, err
		}
		if c, err = Parse(data); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	override(&c.Kubeconfig, f.Kubeconfig)
	override(&c.Context, f.Context)
	override(&c.Bastion, f.Bastion)
	override(&c.State, f.State)
	if len(f.Namespaces) > 0 {
		c.Namespaces = f.Namespaces
	}
	if f.AllNamespaces {
		c.Namespaces = nil
	}
	return c, nil
}

func override(field *string, flag string) {
	if flag != "" {
		*field = flag
	}
}
