package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/loadgen"
	"lightsout/power"
)

// loadSummary is the result of `lightsout load`: summary.json, and the output of -o
// json.
type loadSummary struct {
	// Kind distinguishes it from the summary of a session.
	Kind    string    `json:"kind"`
	URL     string    `json:"url"`
	Shape   string    `json:"shape"`
	Started time.Time `json:"started"`
	// Duration is in seconds.
	Duration float64 `json:"duration"`

	loadgen.Counts
	// Balanced: the equation of Counts holds.
	Balanced bool `json:"balanced"`

	OKPerSecond float64 `json:"ok_per_second"`
	// Latency holds quantiles in milliseconds, of requests that are ok.
	Latency map[string]quantiles `json:"latency_ms"`
	// Redirects are answers, counted as ok, that only name another URL.
	Redirects int `json:"redirects,omitempty"`
	// Tokens and TokensPerSecond are of chats.
	Tokens          int     `json:"tokens,omitempty"`
	TokensPerSecond float64 `json:"tokens_per_second,omitempty"`
	LastError       string  `json:"last_error,omitempty"`
	// Seconds has one item for each second of the run, by when requests were
	// sent; of a longer run, the last day.
	Seconds []loadSecond `json:"seconds"`
}

// loadSummaryKind is the Kind of every loadSummary.
const loadSummaryKind = "load"

// quantiles are in milliseconds.
type quantiles struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// latencies are the latencies of a summary, by their keys in JSON and their names in the text.
var latencies = []struct{ key, name string }{
	{"scheduled", "from when it was due"}, {"sent", "from when it was sent"}, {"late", "sent late by"},
	{"first_token", "to the first token"}, {"per_token", "for each token"},
}

// loadSecond counts the requests that were sent in one second.
type loadSecond struct {
	At   time.Time `json:"at"`
	Sent int       `json:"sent"`
	loadgen.Counts
}

func inMillis(q loadgen.Quantiles) quantiles {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return quantiles{Count: q.Count, P50: ms(q.P50), P90: ms(q.P90), P95: ms(q.P95), P99: ms(q.P99), Max: ms(q.Max)}
}

// summarizeLoad collects the results at the end of a run.
func summarizeLoad(r *loadgen.Run, began, ended time.Time) *loadSummary {
	t := r.Totals
	took := ended.Sub(began).Seconds()
	s := &loadSummary{
		Kind: loadSummaryKind, URL: r.URL, Shape: string(r.Spec.Shape), Started: began.Round(0), Duration: took,
		Counts: t.Counts(), Balanced: t.Balanced(),
		Latency: map[string]quantiles{}, LastError: r.LastError, Redirects: r.Redirects, Tokens: r.Tokens, Seconds: []loadSecond{},
	}
	if took > 0 {
		s.OKPerSecond = float64(t.OK) / took
		s.TokensPerSecond = float64(r.Tokens) / took
	}
	for i, q := range []loadgen.Quantiles{r.Latency.Scheduled, r.Latency.Sent, r.Latency.Late, r.Latency.FirstToken, r.Latency.PerToken} {
		if q.Count > 0 || i < 2 {
			s.Latency[latencies[i].key] = inMillis(q)
		}
	}
	for _, w := range r.Seconds {
		s.Seconds = append(s.Seconds, loadSecond{At: w.At, Sent: w.Sent, Counts: w.Counts()})
	}
	return s
}

// verdict is nil when all requests are ok and the ledger balances.
func (s *loadSummary) verdict() error {
	switch {
	case !s.Balanced:
		return errors.New("the ledger does not balance: this is a fault of lightsout")
	case s.Failed > 0:
		return fmt.Errorf("%d of %d requests failed", s.Failed, s.Scheduled)
	case s.Unsent > 0:
		return fmt.Errorf("%d of %d requests were not sent", s.Unsent, s.Scheduled)
	case s.Cancelled > 0 || s.InFlight > 0:
		return fmt.Errorf("%d of %d requests were cancelled", s.Cancelled+s.InFlight, s.Scheduled)
	}
	return nil
}

// writeJSON writes v for people and programs.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (s *loadSummary) writeText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s, %s, %.1f s\n", s.URL, s.Shape, s.Duration)
	mark := "it balances"
	if !s.Balanced {
		mark = "IT DOES NOT BALANCE"
	}
	fmt.Fprintf(&b, "scheduled %d = ok %d + failed %d + cancelled %d + in flight %d + unsent %d (%s)\n",
		s.Scheduled, s.OK, s.Failed, s.Cancelled, s.InFlight, s.Unsent, mark)
	for _, c := range slices.SortedFunc(maps.Keys(s.FailedByClass), func(a, b loadgen.Class) int { return a.Code() - b.Code() }) {
		fmt.Fprintf(&b, "  failed %-20s %d\n", power.Clean(string(c)), s.FailedByClass[c])
	}
	if s.LastError != "" {
		fmt.Fprintf(&b, "  the last one: %s\n", s.LastError)
	}
	if s.Redirects > 0 {
		fmt.Fprintf(&b, "%d of %d ok are redirects, which lightsout does not follow: give the URL that they name, else the service itself is not tested\n", s.Redirects, s.OK)
	}
	fmt.Fprintf(&b, "%.1f ok a second", s.OKPerSecond)
	if s.Tokens > 0 {
		fmt.Fprintf(&b, ", %d tokens, %.1f tokens a second", s.Tokens, s.TokensPerSecond)
	}
	b.WriteString("\n")
	for _, l := range latencies {
		if q := s.Latency[l.key]; q.Count > 0 {
			fmt.Fprintf(&b, "  %-22s p50 %.3f  p90 %.3f  p95 %.3f  p99 %.3f  max %.3f ms\n", l.name, q.P50, q.P90, q.P95, q.P99, q.Max)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
