package config

import "github.com/spf13/pflag"

// Flags are the flags that choose the file and stand for fields of it.
type Flags struct {
	// File is the file's path; empty looks in the usual places.
	File string
	// The others replace the field of their name where they are given.
	Kubeconfig, Context, Bastion, State string
	Namespaces                          []string
}

// Add defines the flags in a flag set.
func (f *Flags) Add(s *pflag.FlagSet) {
	s.StringVar(&f.File, "config", "", "config `file` (default ./lightsout.yaml, then the one in the user's config folder)")
	s.StringVar(&f.Kubeconfig, "kubeconfig", "", "kubeconfig `file` (default as kubectl: $KUBECONFIG, ~/.kube/config)")
	s.StringVar(&f.Context, "context", "", "`name` of the kubeconfig context (default the current one)")
	s.StringSliceVarP(&f.Namespaces, "namespace", "n", nil, "watch only these `namespaces` (default all)")
	s.StringVar(&f.Bastion, "bastion", "", "go through this ssh `host`: user@host:port or an alias")
	s.StringVar(&f.State, "state", "", "`folder` for journals and records (default ~/.local/state/lightsout)")
}

// Read reads the file, or without File ./lightsout.yaml or the one in the
// user's configuration folder if there is one, and puts the flags over it.
// Errors name the file, the line and the field.
func (f Flags) Read() (*Config, error) {
	c, err := open(f.File)
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
	return c, nil
}

func override(field *string, flag string) {
	if flag != "" {
		*field = flag
	}
}
