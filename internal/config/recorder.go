package config

import (
	"cmp"
	"net"
	"strings"
	"time"

	"lightsout/power"
)

// Recorder is the section of lightsout.yaml for `lightsout recorder`.
type Recorder struct {
	// URL is requested instead of load.url, by a plain GET.
	URL string `json:"url"`
	// Every is the interval between two requests.
	Every time.Duration `json:"every"`
	// Past is how much of the time before an outage its record contains.
	Past time.Duration `json:"past"`
	// Steady is the time without a new sign after which an outage is over.
	Steady time.Duration `json:"steady"`
	// MemoryMB bounds the past in memory, KeepMB the records on the disk.
	MemoryMB int `json:"memory_mb"`
	KeepMB   int `json:"keep_mb"`
	// Listen is the address of /healthz and /metrics; empty serves nothing.
	Listen string `json:"listen"`
	// Lease is NAMESPACE/NAME of the Lease by which several recorders choose the one that
	// reports; empty: there is one recorder.
	Lease string `json:"lease"`
	// Command is run for each notice.
	Command []string `json:"command" path:"program"`
	Webhook Webhook  `json:"webhook"`
}

// Webhook is where notices of outages are posted.
type Webhook struct {
	// Format is slack or alertmanager.
	Format  string `json:"format"`
	URLFile string `json:"url_file" path:"file"`
	URLEnv  string `json:"url_env"`
}

// Recording returns the settings of the recorder with their defaults.
func (c *Config) Recording() Recorder {
	r := c.Recorder
	r.Every = cmp.Or(r.Every, time.Second)
	r.Past = cmp.Or(r.Past, 15*time.Minute)
	r.Steady = cmp.Or(r.Steady, 5*time.Minute)
	r.MemoryMB = cmp.Or(r.MemoryMB, 64)
	r.KeepMB = cmp.Or(r.KeepMB, 2048)
	r.Webhook.Format = cmp.Or(r.Webhook.Format, "slack")
	return r
}

// check finds contradictions.
func (r Recorder) check(wrong fault) {
	notNegative(wrong, "recorder.every", r.Every)
	notNegative(wrong, "recorder.past", r.Past)
	notNegative(wrong, "recorder.steady", r.Steady)
	notNegative(wrong, "recorder.memory_mb", r.MemoryMB)
	notNegative(wrong, "recorder.keep_mb", r.KeepMB)
	if r.URL != "" && WebAddress(r.URL) == nil {
		wrong("recorder.url", "recorder.url is not a URL; give one like http://10.0.0.11:31080/path")
	}
	if _, _, err := net.SplitHostPort(r.Listen); r.Listen != "" && (err != nil || badPort(r.Listen)) {
		wrong("recorder.listen", "recorder.listen must be HOST:PORT, like 127.0.0.1:9090: %q", r.Listen)
	}
	if ns, name, _ := strings.Cut(r.Lease, "/"); r.Lease != "" && (ns == "" || name == "" || strings.Contains(name, "/")) {
		wrong("recorder.lease", "recorder.lease must be namespace/name: %q", r.Lease)
	}
	wrong.oneOf("recorder.webhook.format", r.Webhook.Format, "slack", "alertmanager")
	_, err := r.Webhook.Source()
	wrong.of("recorder.webhook", err)
}

// Source returns a function that reads the webhook's address; nil if there is none.
func (w Webhook) Source() (power.Source, error) {
	return secretSource(power.Secret{Field: "recorder.webhook.url", Name: "the webhook's address", File: w.URLFile, Env: w.URLEnv})
}
