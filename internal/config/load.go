package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"lightsout/internal/text"
	"lightsout/loadgen"
	"lightsout/power"
)

// Load is the section of lightsout.yaml for the requests that the load keys and the
// load steps of a plan send. docs/reference/load.md lists each field.
type Load struct {
	loadgen.Target
	loadgen.Timeouts
	CAFile     string            `json:"ca_file" path:"file"`
	Headers    map[string]string `json:"headers"`
	BodyFile   string            `json:"body_file" path:"file"`
	Prompt     string            `json:"prompt"`
	PromptFile string            `json:"prompts_file" path:"file"`
	APIKeyFile string            `json:"api_key_file" path:"file"`
	APIKeyEnv  string            `json:"api_key_env"`
	// Connections is fresh, which is the default, or kept.
	Connections string    `json:"connections"`
	KeepAlive   KeepAlive `json:"keep_alive"`
	Metrics     *Metrics  `json:"metrics"`
	MaxInFlight int       `json:"max_in_flight"`
	// ViaBastion sends requests through the bastion; the default is to do so
	// when there is one.
	ViaBastion *bool  `json:"via_bastion"`
	Deployment string `json:"deployment"`
	Burst      int    `json:"burst"`
	Hold       int    `json:"hold"`
}

// KeepAlive is a group of fields of Load.
type KeepAlive = loadgen.KeepAlive

// Metrics is what pods without a queue-proxy tell of their requests.
type Metrics struct {
	// Server is llama.cpp, llama.cpp slots, vllm, or a name for another one,
	// which needs Served.
	Server string `json:"server"`
	Port   int32  `json:"port"`
	Path   string `json:"path"`
	// Served and Queued are names of Prometheus gauges; Labels are the labels that a
	// sample must have.
	Served string            `json:"served"`
	Queued string            `json:"queued"`
	Labels map[string]string `json:"labels"`
}

// llamaSlots is the Server whose /slots lightsout reads instead of its metrics, which
// it has only if started with --metrics.
const llamaSlots = "llama.cpp slots"

// Ask sets the metrics of a backend from the config.
func (m *Metrics) Ask(b *loadgen.Backend) {
	switch m.Server {
	case llamaSlots:
		b.Metrics = loadgen.SlotsMetrics(m.Port)
		return
	case "llama.cpp":
		b.Metrics = loadgen.LlamaMetrics(m.Port)
	case "vllm":
		b.Metrics = loadgen.VLLMMetrics(m.Port)
	default:
		b.Metrics = loadgen.Metrics{Name: m.Server, Port: m.Port, Served: m.Served, Queued: m.Queued}
	}
	b.Metrics.Path, b.Metrics.Labels = m.Path, map[string][]string{}
	for name, value := range m.Labels {
		b.Metrics.Labels[name] = []string{value}
	}
}

func (m *Metrics) check(wrong fault) {
	known := m.Server == llamaSlots || m.Server == "llama.cpp" || m.Server == "vllm"
	switch {
	case m.Server == "":
		wrong("load.metrics", "load.metrics needs server: llama.cpp, %s, vllm, or a name of your own", llamaSlots)
	case m.Port < 1 || m.Port > 65535:
		wrong("load.metrics", "load.metrics needs the port of the pods, from 1 to 65535")
	case known && (m.Served != "" || m.Queued != ""):
		wrong("load.metrics", "the gauges of %s are known: leave served and queued away, or give it another name", m.Server)
	case !known && m.Served == "":
		wrong("load.metrics", "load.metrics of %q needs served, the name of a gauge", m.Server)
	}
}

// check finds contradictions that the types allow. It reads no file.
func (l Load) check(wrong fault) {
	wrong.oneOf("load.profile", string(l.Profile), string(loadgen.HTTP), string(loadgen.Chat))
	wrong.oneOf("load.protocol", string(l.Protocol), string(loadgen.HTTP1), string(loadgen.HTTP2))
	var u *url.URL
	if l.URL != "" {
		// It may hold a password, so it is not quoted.
		if u = WebAddress(l.URL); u == nil {
			wrong("load.url", "load.url is not a URL; give one like http://10.0.0.11:31080/path")
		}
	}
	l.checkProfileFields(l.Profile == loadgen.Chat, wrong)
	if l.Prompt != "" && l.PromptFile != "" {
		wrong("load.prompts_file", "give the prompt by prompt or prompts_file, not both")
	}
	_, err := secretSource(l.apiKey())
	wrong.of("load.api_key_env", err)
	if l.Deployment != "" && strings.Count(l.Deployment, "/") != 1 {
		wrong("load.deployment", "load.deployment must be namespace/name: %q", l.Deployment)
	}
	if l.CAFile != "" && u != nil && u.Scheme != "https" {
		wrong("load.ca_file", "load.ca_file is for https, and load.url is not")
	}
	wrong.oneOf("load.connections", l.Connections, Connections...)
	if _, err := loadgen.Addresses("http://localhost", l.Entries); err != nil {
		wrong("load.entries", "load.entries: %w", err)
	}
	if l.Metrics != nil {
		l.Metrics.check(wrong)
	}
	notNegative(wrong, "load.burst", l.Burst)
	notNegative(wrong, "load.hold", l.Hold)
	notNegative(wrong, "load.max_tokens", l.MaxTokens)
	notNegative(wrong, "load.max_in_flight", l.MaxInFlight)
	notNegative(wrong, "load.keep_alive.count", l.KeepAlive.Count)
}

// checkProfileFields finds fields that are for the other profile.
func (l Load) checkProfileFields(chat bool, wrong fault) {
	for _, f := range []struct {
		field   string
		given   bool
		forChat bool
	}{
		{"model", l.Model != "", true}, {"prompt", l.Prompt != "", true}, {"prompts_file", l.PromptFile != "", true},
		{"max_tokens", l.MaxTokens != 0, true}, {"method", l.Method != "", false}, {"body_file", l.BodyFile != "", false},
	} {
		if f.given && f.forChat != chat {
			wrong("load."+f.field, "load.%s is for profile %s", f.field, map[bool]loadgen.Profile{true: loadgen.Chat, false: loadgen.HTTP}[f.forChat])
		}
	}
}

// Connections are the values of Load.Connections.
var Connections = []string{"fresh", "kept"}

// Options converts the config about requests and connections; it reads files and
// secrets. Errors name the file, and contain no secret.
func (l Load) Options() (o loadgen.Options, err error) {
	o = loadgen.Options{Target: l.Target, Timeouts: l.Timeouts, MaxInFlight: l.MaxInFlight, KeepAlive: l.KeepAlive}
	t := &o.Target
	t.Header, t.Reuse = http.Header{}, l.Connections == Connections[1]
	for _, name := range slices.Sorted(maps.Keys(l.Headers)) {
		t.Header.Add(name, l.Headers[name])
	}
	t.APIKey, err = l.APIKey()
	return o, errors.Join(err, l.ReadFiles(&o))
}

func (l Load) apiKey() power.Secret {
	return power.Secret{Field: "load.api_key", Name: "the API key", File: l.APIKeyFile, Env: l.APIKeyEnv}
}

// APIKey reads the API key from its source; empty if there is none.
func (l Load) APIKey() (string, error) {
	read, err := secretSource(l.apiKey())
	if read == nil {
		return "", err
	}
	return read()
}

// ReadFiles reads the body, the prompts and the certificate authorities.
func (l Load) ReadFiles(o *loadgen.Options) (err error) {
	if l.BodyFile != "" {
		o.Target.Body, err = text.ReadFile(l.BodyFile)
		if err != nil {
			return fmt.Errorf("the body can't be read: %w", err)
		}
	}
	if l.Prompt != "" {
		o.Target.Prompts = []string{l.Prompt}
	}
	if l.PromptFile != "" {
		data, err := text.ReadFile(l.PromptFile)
		if err != nil {
			return fmt.Errorf("the prompts can't be read: %w", err)
		}
		o.Target.Prompts, err = loadgen.ParsePrompts(data)
		if err != nil {
			return fmt.Errorf("%s: %w", l.PromptFile, err)
		}
	}
	if l.CAFile != "" {
		pem, err := text.ReadFile(l.CAFile)
		if err != nil {
			return fmt.Errorf("the certificate authorities can't be read: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s contains no certificate; give a PEM file", l.CAFile)
		}
		o.TLS = &tls.Config{RootCAs: pool}
	}
	return nil
}

// WebAddress parses a URL of http or https; nil for any other text.
func WebAddress(s string) *url.URL {
	u, err := url.Parse(s)
	if _, wrong := loadgen.Addresses(s, nil); err != nil || wrong != nil {
		return nil
	}
	return u
}
