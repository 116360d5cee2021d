package config

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lightsout/internal/config/yamlfile"
	"lightsout/power"
)

// Config is the file lightsout.yaml. Unknown fields are errors.
type Config struct {
	// Context and Kubeconfig choose the cluster, as kubectl's flags do.
	Context    string `json:"context"`
	Kubeconfig string `json:"kubeconfig" path:"file"`
	// Namespaces are the namespaces to watch; empty is all.
	Namespaces []string `json:"namespaces"`
	// Bastion is user@host:port or an alias of the ssh configuration; all
	// connections go through it. Empty: straight.
	Bastion string `json:"bastion"`
	// Production asks for the cluster's name before anything is switched off.
	Production bool `json:"production"`
	// ProductionContexts are the contexts of the kubeconfig with the same effect. One file
	// serves several contexts: --context and :ctx choose another.
	ProductionContexts []string `json:"production_contexts"`
	// Pace comes from the lab: "fast" means that its timings are shortened.
	Pace  string `json:"pace"`
	SSH   SSH    `json:"ssh"`
	Power Power  `json:"power"`
	Load  Load   `json:"load"`
	// Recorder is for `lightsout recorder`.
	Recorder Recorder `json:"recorder"`
	// Guards restricts switching off.
	Guards Guards `json:"guards"`
	// State is the folder of journals and records.
	State string `json:"state" path:"file"`
}

// SSH configures the ssh logins to the bastion and the machines.
type SSH struct {
	Config        string   `json:"config" path:"file"`
	User          string   `json:"user"`
	IdentityFiles []string `json:"identity_files" path:"file"`
	KnownHosts    []string `json:"known_hosts" path:"file"`
	Shutdown      string   `json:"shutdown"`
}

// Guards is the section of lightsout.yaml that restricts switching off.
type Guards struct {
	power.Limits
	// Annotate reports whether lightsout annotates nodes that it switches off; nil
	// is yes.
	Annotate *bool `json:"annotate,omitempty"`
}

// defaultPath is the path to try without --config.
func defaultPath() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "lightsout", "lightsout.yaml")
}

// fault describes the error in a field.
type fault func(field, format string, args ...any)

// of reports err, unless it is nil, for the field that it names, or else for this one.
func (wrong fault) of(field string, err error) {
	var at *power.FieldError
	if errors.As(err, &at) {
		field = at.Field
	}
	if err != nil {
		wrong(field, "%w", err)
	}
}

// oneOf reports a value that is not among the valid ones; an empty one is the default.
func (wrong fault) oneOf(field, value string, all ...string) {
	if value != "" && !slices.Contains(all, value) {
		wrong(field, "there is no %s %q; %s", field, value, yamlfile.Hint(value, all))
	}
}

// notNegative reports a number or a time below 0.
func notNegative[T int | time.Duration](wrong fault, field string, value T) {
	if value < 0 {
		wrong(field, "%s can't be negative", field)
	}
}

// badPort reports an address with a port that there cannot be.
func badPort(address string) bool {
	_, port, _ := net.SplitHostPort(strings.TrimSuffix(address, "/")) // without one: empty
	_, err := net.LookupPort("tcp", port)
	return err != nil
}

// check finds contradictions that the types allow. It reads no file.
func (c *Config) check(wrong fault) {
	wrong.oneOf("pace", c.Pace, "fast", "real")
	c.Power.check(wrong)
	// The guards' settings must not be weaker than the default.
	wrong.of("guards.view_age", power.Limits{ViewAge: c.Guards.ViewAge}.Check())
	wrong.of("guards.keep_ready", power.Limits{KeepReady: c.Guards.KeepReady}.Check())
	wrong.of("guards.protect", power.Limits{Protect: c.Guards.Protect}.Check())
	wrong.of("guards.control_plane", power.Limits{ControlPlane: c.Guards.ControlPlane}.Check())
	for _, name := range c.ProductionContexts {
		if name == "" || strings.TrimSpace(name) != name || strings.ContainsAny(name, "*?") {
			wrong("production_contexts", "production_contexts has %q: name each context exactly as the kubeconfig does", name)
		}
	}
	c.Load.check(wrong)
	c.Recorder.check(wrong)
}

// StateDir is where journals and records are kept.
func (c *Config) StateDir() (string, error) {
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
