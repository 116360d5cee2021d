package config

import (
	"errors"
	"fmt"
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

// Find reads the file: File, or without it ./lightsout.yaml, else the one in the
// user's configuration folder. Where there is none, path is empty.
func (f Flags) Find() (path string, data []byte, err error) {
	paths := []string{f.File}
	if f.File == "" {
		paths = []string{Name, defaultPath()}
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		switch {
		case err == nil:
			return p, data, nil
		case !errors.Is(err, os.ErrNotExist) || f.File != "":
			return p, nil, fmt.Errorf("the config file can't be read: %w", err)
		}
	}
	return "", nil, nil
}

// Read reads the file that Find finds, if any, and puts the flags over it.
// Errors name the file, the line and the field.
func (f Flags) Read() (*Config, error) {
	path, data, err := f.Find()
	c := &Config{}
	if err == nil && path != "" {
		if c, err = Parse(data); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		return nil, err
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
