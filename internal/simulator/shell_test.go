package simulator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"lightsout/internal/config"
	"lightsout/power"
)

// stateDir is an operator's state folder: on a host, with a kubeconfig. The config file
// has its path relative to the file.
type stateDir struct {
	name    string
	dir     string
	config  string // absolute path of the config file
	host    *host
	cluster power.Cluster // according to the kubeconfig
	uid     time.Duration // time until the UID is known
	// used lists the state folders that its programs used.
	used []string
	// printed is the last restore command that a program of this operator printed.
	printed string
	// restores is how this operator calls restore once everything works again.
	restores way
}

// newStateDir creates the folders and the config of an operator.
func newStateDir(root, name string, h *host, of power.Cluster) *stateDir {
	folder := filepath.Join(root, name)
	st := &stateDir{name: name, dir: filepath.Join(folder, "state"), config: filepath.Join(folder, config.Name), host: h, cluster: of, uid: 20 * time.Millisecond}
	err := errors.Join(os.MkdirAll(folder, 0o700), os.MkdirAll(filepath.Join(root, "desk"), 0o700))
	if err == nil {
		err = os.WriteFile(st.config, []byte("state: state\n"), 0o600)
	}
	if err != nil {
		panic(err)
	}
	return st
}

// way is how the operator calls a program.
type way int

const (
	inItsFolder way = iota // in the folder of the config, which it finds
	elsewhere              // in another folder, with --config
	asPrinted              // in another folder, with the printed restore command
	ways
)

func (w way) String() string {
	return [...]string{"in the config's folder", "in another folder, by --config", "in another folder, as it was printed"}[w]
}

// call reads the config like a program that is called in this way, and returns the
// state folder that it finds and the restore command that it would print.
func (st *stateDir) call(w way) (dir, printed string) {
	folder := filepath.Join(filepath.Dir(st.config), "..", "desk")
	var f config.Flags
	switch {
	case w == inItsFolder:
		folder = filepath.Dir(st.config)
	case w == elsewhere || st.printed == "":
		f.File = st.config
	default:
		flags := pflag.NewFlagSet("restore", pflag.ContinueOnError)
		f.Add(flags)
		if err := flags.Parse(strings.Fields(st.printed)[2:]); err != nil {
			panic(fmt.Errorf("%s: %w", st.printed, err))
		}
	}
	before, err := os.Getwd()
	if err == nil {
		err = os.Chdir(folder)
	}
	if err != nil {
		panic(err)
	}
	c, err := f.Read()
	if err == nil {
		dir, err = c.StateDir()
	}
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err == nil {
		printed = f.CommandLine("restore", c)
		err = os.Chdir(before)
	}
	if err != nil {
		panic(err)
	}
	if !slices.Contains(st.used, dir) {
		st.used = append(st.used, dir)
	}
	return dir, printed
}
