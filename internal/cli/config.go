package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"lightsout/power"
)

// config is the file lightsout.yaml. Unknown fields are errors.
type config struct {
	// Context and Kubeconfig choose the cluster, as kubectl's flags do.
	Context    string `json:"context,omitempty"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Namespaces bounds what is watched; empty is all.
	Namespaces []string `json:"namespaces,omitempty"`
	// Bastion is user@host:port or an alias of the ssh configuration; all
	// connections go through it. Empty: straight.
	Bastion string `json:"bastion,omitempty"`
	// Production asks for the cluster's name before anything is switched off.
	Production bool `json:"production,omitempty"`
	// Pace is written by the lab: "fast" says that its timings are shortened.
	Pace  string      `json:"pace,omitempty"`
	SSH   sshConfig   `json:"ssh,omitempty"`
	Power powerConfig `json:"power,omitempty"`
	Load  loadConfig  `json:"load,omitempty"`
	// Guards tightens what is refused when something is to be switched off.
	Guards guardsConfig `json:"guards,omitempty"`
	// State is the folder of journals and records.
	State string `json:"state,omitempty"`
}

type sshConfig struct {
	Config        string   `json:"config,omitempty"`
	User          string   `json:"user,omitempty"`
	IdentityFiles []string `json:"identity_files,omitempty"`
	KnownHosts    []string `json:"known_hosts,omitempty"`
	Shutdown      string   `json:"shutdown,omitempty"`
}

type guardsConfig struct {
	ViewAge    *metav1.Duration `json:"view_age,omitempty"`
	KeepReady  *int             `json:"keep_ready,omitempty"`
	Protect    []string         `json:"protect,omitempty"`
	NoOverride bool             `json:"no_override,omitempty"`
}

// limits checks the guards' settings: none may be weaker than the default.
func (g guardsConfig) limits() (power.Limits, error) {
	l := power.Limits{Protect: g.Protect, NoOverride: g.NoOverride}
	if g.ViewAge != nil {
		if l.ViewAge = g.ViewAge.Duration; l.ViewAge == 0 {
			return l, errors.New("guards.view_age is 0: nothing could be switched off")
		}
	}
	if g.KeepReady != nil {
		if l.KeepReady = *g.KeepReady; l.KeepReady == 0 {
			return l, errors.New("guards.keep_ready is 0: at least 1 Ready worker is kept")
		}
	}
	return l, l.Check()
}

// defaultConfigPath is looked at when --config is not given.
func defaultConfigPath() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "lightsout", "lightsout.yaml")
}

// loadConfigFile reads the file at path, or, when path is empty, ./lightsout.yaml
// or the one in the user's configuration folder if there is one. Errors name
// the file, the line and the field.
func loadConfigFile(path string) (*config, error) {
	paths := []string{path}
	if path == "" {
		paths = []string{"lightsout.yaml", defaultConfigPath()}
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if errors.Is(err, os.ErrNotExist) && path == "" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the config file can't be read: %w", err)
		}
		c, err := parseConfig(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		return c, nil
	}
	return &config{}, nil
}

// maxConfig bounds the size of a config file, in bytes.
const maxConfig = 1 << 20

// parseConfig reads a config strictly. Errors start with "line N: " where the
// line is known.
func parseConfig(data []byte) (*config, error) {
	if len(data) > maxConfig {
		return nil, fmt.Errorf("the config is larger than %d bytes", maxConfig)
	}
	c := &config{}
	if err := yaml.UnmarshalStrict(data, c); err != nil {
		return nil, explainYAML(data, err)
	}
	return c, c.check(data)
}

var (
	unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)
	atLine       = regexp.MustCompile(`line (\d+): `)
	wrongType    = regexp.MustCompile(`cannot unmarshal (\S+) into Go struct field \S*?\.(\S+) of type (\S+)`)
	notDuration  = regexp.MustCompile(`time: (.*)$`)
)

// explainYAML turns the YAML library's errors into one sentence with a line.
func explainYAML(data []byte, err error) error {
	text := strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: ")
	text = strings.TrimPrefix(text, "error converting YAML to JSON: ")
	if m := unknownField.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%sthere is no field %q; see the README for the fields there are", lineOf(data, m[1]), m[1])
	}
	if m := wrongType.FindStringSubmatch(text); m != nil {
		field := m[2][strings.LastIndex(m[2], ".")+1:]
		return fmt.Errorf("%s%s can't be a %s; a %s is wanted", lineOf(data, m[2]), field, m[1], wantedType(m[3]))
	}
	if m := atLine.FindStringSubmatchIndex(text); m != nil {
		n := text[m[2]:m[3]]
		rest := strings.TrimSpace(strings.TrimPrefix(text[m[1]:], "yaml: "))
		return fmt.Errorf("line %s: %s", n, strings.ReplaceAll(rest, "\n", " "))
	}
	if m := notDuration.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s; write it like 90s or 30m", m[1])
	}
	return errors.New(strings.ReplaceAll(text, "\n", " "))
}

func wantedType(t string) string {
	switch {
	case strings.HasPrefix(t, "[]"):
		return "list"
	case strings.HasPrefix(t, "map["), strings.HasPrefix(t, "main."):
		return "group of fields"
	case strings.HasPrefix(t, "int"), strings.HasPrefix(t, "float"):
		return "number"
	case t == "bool":
		return "true or false"
	}
	return "text"
}

// lineOf finds the line of a field given by its dotted path, "line N: " or empty.
// The last part of the path must be there, after as many of the others as are.
func lineOf(data []byte, path string) string {
	lines := bytes.Split(data, []byte("\n"))
	at := 0 // where the last part that was found is
	find := func(name string) bool {
		key := regexp.MustCompile(`(^\s*(- )?|[{,]\s*)["']?` + regexp.QuoteMeta(name) + `["']?\s*:`)
		for i := at; i < len(lines); i++ {
			if key.Match(lines[i]) {
				at = i
				return true
			}
		}
		return false
	}
	parts := strings.Split(path, ".")
	for _, name := range parts[:len(parts)-1] {
		find(name)
	}
	if !find(parts[len(parts)-1]) {
		return ""
	}
	return "line " + strconv.Itoa(at+1) + ": "
}

// check finds contradictions that the types allow.
func (c *config) check(data []byte) error {
	fail := func(field, format string, args ...any) error {
		return fmt.Errorf(lineOf(data, field)+format, args...)
	}
	if err := c.Power.check(fail); err != nil {
		return err
	}
	if _, err := c.Guards.limits(); err != nil {
		return fail("guards", "%w", err)
	}
	return c.Load.check(fail)
}

// stateDir is where journals and records are kept.
func (c *config) stateDir() (string, error) {
	if c.State != "" {
		return c.State, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "lightsout"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("there is no home folder to keep the journal in; set state in lightsout.yaml: %w", err)
	}
	return filepath.Join(home, ".local", "state", "lightsout"), nil
}

// readSecret takes a secret from a file that only its owner may read, or from
// an environment variable. Its value is in no error.
func readSecret(what, file, env string) (string, error) {
	switch {
	case env != "":
		v := os.Getenv(env)
		if v == "" {
			return "", fmt.Errorf("%s: the environment variable %s is empty", what, env)
		}
		return v, nil
	case file != "":
		info, err := os.Stat(file)
		if err != nil {
			return "", fmt.Errorf("%s can't be read: %w", what, err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			return "", fmt.Errorf("%s: others may read %s; run chmod 600 on it", what, file)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("%s can't be read: %w", what, err)
		}
		return strings.TrimSpace(string(b)), nil
	}
	return "", nil
}
