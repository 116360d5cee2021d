package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"lightsout/internal/text"
)

// Name is what the file is called.
const Name = "lightsout.yaml"

// Flags are the flags that choose the file and stand for fields of it.
type Flags struct {
	// File is the file's path. If it is empty, Path searches the usual places; with
	// Elsewhere it skips the current folder, whose file nobody has named.
	File      string
	Elsewhere bool
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

// Bound defines the flags that select the watched namespaces.
func (f *Flags) Bound(s *pflag.FlagSet) {
	s.StringSliceVarP(&f.Namespaces, "namespace", "n", nil, "watch only these `namespaces` (default all)")
	s.BoolVarP(&f.AllNamespaces, "all-namespaces", "A", false, "watch all namespaces, even if the config file names some")
}

// Path returns the path of the file: File, or without it ./lightsout.yaml, else the one
// in the user's configuration folder. It is empty if there is none.
func (f Flags) Path() string {
	if f.File != "" {
		return f.File
	}
	for _, p := range []string{Name, defaultPath()} {
		skip := p == Name && f.Elsewhere
		if _, err := os.Lstat(p); !skip && !errors.Is(err, os.ErrNotExist) {
			return p
		}
	}
	return ""
}

// Found reports whether Path is ./lightsout.yaml, which nobody has named.
func (f Flags) Found() bool { return f.File == "" && f.Path() == Name }

// trust refuses a config file that another account may have written: lightsout runs
// programs that the file names.
func trust(path string) error {
	for _, stat := range []func(string) (os.FileInfo, error){os.Lstat, os.Stat} {
		info, err := stat(path)
		if err != nil {
			return nil // reading it returns the error
		}
		s, ok := info.Sys().(*syscall.Stat_t)
		link, shared := info.Mode()&os.ModeSymlink != 0, info.Mode().Perm()&0o002 != 0
		switch {
		case ok && s.Uid != 0 && int(s.Uid) != os.Getuid():
			return fmt.Errorf("./%s belongs to another account (uid %d), and it may name programs to run: check it, then name it with --config ./%s", path, s.Uid, path)
		case shared && !link, !link && info.Mode().Perm()&0o020 != 0 && ok && int(s.Gid) != os.Getgid():
			return fmt.Errorf("other accounts may write to ./%s, and it may name programs to run: check it, then run chmod go-w on it, or name it with --config ./%s", path, path)
		}
	}
	return nil
}

// ReadFile reads a config file, which may be a pipe. Of one that is too large it
// reads no more than shows that.
func ReadFile(path string) (data []byte, err error) {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, maxSize+1))
	}
	if err != nil {
		return nil, fmt.Errorf("the config file can't be read: %w", err)
	}
	return data, nil
}

// Read reads the file at Path, if any, and puts the flags over it. Errors name the
// file, the line and the field.
func (f Flags) Read() (*Config, error) {
	c, faults, err := f.read()
	switch len(faults) {
	case 0:
		return c, err
	case 1:
		return nil, faults[0]
	}
	return nil, fmt.Errorf("%w; %s config check %s lists all errors", faults[0], text.Self, text.ShellWord(f.Path()))
}

// read is Read, without some sections. It returns all faults of the file.
func (f Flags) read(without ...string) (c *Config, faults []error, err error) {
	path := f.Path()
	if path == "" {
		return f.over(&Config{}), nil, nil
	}
	if f.Found() {
		if err := trust(path); err != nil {
			return nil, nil, err
		}
	}
	data, err := ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	c, _, faults = read(data, without...)
	for i, fault := range faults {
		faults[i] = fmt.Errorf("%s: %w", path, fault)
	}
	if len(faults) > 0 {
		return nil, faults, nil
	}
	return f.over(c), nil, nil
}

// ReadForOn is Read for a command that only powers machines on: faults in the sections that
// it does not need must not stop it. The Config lacks these sections then, and overlooked
// has the faults. Any other fault is an error: the config may lead to another machine, or
// to the journal of another state folder, without the faulty field. So is a file that is not regular.
func (f Flags) ReadForOn() (c *Config, overlooked []error, err error) {
	if info, err := os.Stat(f.Path()); err == nil && !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("the config file %s is not a regular file, and powering on may read it several times: name a file with --config", f.Path())
	}
	if c, overlooked, err = f.read(); len(overlooked) == 0 {
		return c, nil, err
	}
	c, faults, err := f.read(notForOn...)
	if len(faults) > 0 {
		return nil, nil, faults[0]
	}
	return c, overlooked, err
}

// over puts the flags over a config of the file at Path.
func (f Flags) over(c *Config) *Config {
	if path := f.Path(); path != "" {
		c.place(path)
	}
	c.Kubeconfig = cmp.Or(f.Kubeconfig, c.Kubeconfig)
	c.Context = cmp.Or(f.Context, c.Context)
	c.Bastion = cmp.Or(f.Bastion, c.Bastion)
	c.State = cmp.Or(f.State, c.State)
	if len(f.Namespaces) > 0 {
		c.Namespaces = f.Namespaces
	}
	if f.AllNamespaces {
		c.Namespaces = nil
	}
	return c
}

// AbsPath returns the absolute path of the config file, for a restore from another
// folder; empty if there is no file that still exists by then.
func (f Flags) AbsPath() string {
	info, err := os.Stat(f.Path())
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	path, _ := filepath.Abs(f.Path()) // without a current folder: empty
	return path
}

// CommandLine returns a command of lightsout, empty for the screen, with every flag that leads to the same machines,
// journal and cluster from any folder and in any shell. c is the config that Read returned for
// the flags.
func (f Flags) CommandLine(command string, c *Config) string {
	kubeconfig, before := f.Kubeconfig, ""
	if list := os.Getenv("KUBECONFIG"); c.Kubeconfig == "" && list != "" {
		if kubeconfig = list; strings.ContainsRune(list, filepath.ListSeparator) {
			kubeconfig, before = "", "KUBECONFIG="+text.ShellWord(list)+" "
		}
	}
	state, _ := c.StateDir() // without a state folder there is no journal
	words := []string{before + strings.TrimSpace(text.Self+" "+command)}
	for _, w := range []struct{ flag, value string }{
		{"--config", cmp.Or(f.AbsPath(), f.File)}, {"--kubeconfig", kubeconfig}, {"--context", f.Context}, {"--bastion", f.Bastion}, {"--state", state},
	} {
		if whole, err := filepath.Abs(w.value); err == nil && w.value != "" && w.flag != "--context" && w.flag != "--bastion" {
			w.value = whole
		}
		if w.value != "" {
			words = append(words, w.flag, text.ShellWord(w.value))
		}
	}
	return strings.Join(words, " ")
}
