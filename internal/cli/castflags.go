package cli

import (
	"cmp"
	"errors"
	"os"
	"os/user"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/record"
)

// castFlags are the flags for recording the screen.
type castFlags struct {
	// file is the recording to write from the start; empty: the operator starts it.
	file   string
	redact bool
}

func (f *castFlags) add(s *pflag.FlagSet) {
	f.addFile(s)
	f.addRedact(s)
}

func (f *castFlags) addFile(s *pflag.FlagSet) {
	s.StringVar(&f.file, "cast", "", "record the screen to this `file` (asciicast); V also starts and stops a recording")
}

func (f *castFlags) addRedact(s *pflag.FlagSet) {
	s.BoolVar(&f.redact, "redact", false, "replace names of hosts, users and namespaces, and addresses, in recordings, records and printed lines")
}

// check returns the error in the flags. shown: there is a screen.
func (f *castFlags) check(shown bool) error {
	if f.file != "" && !shown {
		return usageError{errors.New("--cast records the drawn screen, and this command does not draw one")}
	}
	return nil
}

// names are the names to replace; nil without --redact.
func (f *castFlags) names() *record.Names {
	if !f.redact {
		return nil
	}
	n := record.NewNames()
	if host, err := os.Hostname(); err == nil {
		n.Add(record.NameHost, host)
	}
	if u, err := user.Current(); err == nil {
		n.Add(record.NameUser, u.Username)
	}
	return n
}

// hidden are the names that --redact replaces in printed lines; nil: none.
var hidden atomic.Pointer[record.Names]

// standard is standard output or standard error; each Write has whole names.
type standard struct{ file **os.File }

var stdout, stderr = standard{&os.Stdout}, standard{&os.Stderr}

// Write writes the text with the stand-ins of hidden.
func (s standard) Write(b []byte) (int, error) {
	_, err := (*s.file).WriteString(hidden.Load().Text(string(b)))
	return len(b), err
}

// urlHost finds the host in a URL.
var urlHost = regexp.MustCompile(`://(?:[^/@\s]*@)?([^/:\s"']+)`)

// learnConfig adds the names in the configuration, and keys them by the cluster.
func learnConfig(n *record.Names, o options, cfg *config.Config, access *cluster.Config, via string) error {
	if n == nil {
		return nil
	}
	n.Key = cmp.Or(o.lab, access.Identity().CA) // every lab of a scenario has the same names
	n.AddContexts(append(cluster.Contexts(cfg.Kubeconfig), access.Context)...)
	n.Add(record.NameUser, cfg.SSH.User)
	n.Add(record.NameNamespace, append(slices.Clone(cfg.Namespaces), focus(cfg).Namespace)...)
	for _, way := range []string{cfg.Bastion, via, cfg.Load.Host} {
		n.Way(way)
	}
	all, err := cfg.Show()
	if err != nil {
		return err
	}
	for _, m := range urlHost.FindAllStringSubmatch(strings.Join(append(cfg.Load.Entries, all, cfg.Load.URL, access.Server), " "), -1) {
		n.Add(record.NameHost, m[1])
	}
	for node, own := range cfg.Power.FleetNodes() {
		n.Add(record.NameHost, node, own.Machine)
	}
	return nil
}
