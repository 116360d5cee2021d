package plan

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"lightsout/loadgen"
	"lightsout/power"
)

// Marshal writes the plan as a file. Parse makes the same plan of it again,
// but for lines and Text, when Check has nothing against the plan and its name
// is one word. A name too long for a file is left out.
func (p *Plan) Marshal() []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("name: %s", word(p.Name))
	if p.About != "" {
		line("about: %s", word(p.About))
	}
	if p.Deployment != "" {
		line("deployment: %s", word(p.Deployment))
	}
	line("steps:")
	for _, s := range p.Steps {
		line("  - %s", s.yaml())
		if s.Name != "" && s.Name != s.defaultName() && utf8.RuneCountInString(s.Name) <= maxStepName {
			line("    name: %s", word(s.Name))
		}
	}
	if len(p.Expect) > 0 {
		line("expect:")
	}
	for _, e := range p.Expect {
		line("  - %s: %s", e.Measure, e.yaml())
		switch {
		case e.Step != "":
			line("    step: %s", word(e.Step))
		case e.Subject != "" && contains(ofDeployment, e.Measure):
			line("    deployment: %s", word(e.Subject))
		case e.Subject != "":
			line("    node: %s", word(e.Subject))
		}
	}
	return []byte(b.String())
}

// flow is a group of fields in { }.
type flow []string

func (f *flow) add(name, value string) { *f = append(*f, name+": "+value) }

func (f flow) String() string { return "{" + strings.Join(f, ", ") + "}" }

func (f *flow) within(d, unless time.Duration) {
	if d > 0 && d != unless {
		f.add("within", short(d))
	}
}

func (s Step) yaml() string {
	switch {
	case s.Load != nil:
		return "load: " + s.Load.yaml()
	case s.Off != nil:
		return "off: " + s.Off.yaml()
	case s.On != nil:
		return "on: " + s.On.yaml()
	case s.Wait != nil:
		return "wait: " + s.Wait.yaml()
	case s.Cordon != nil:
		return "cordon: " + words(s.Cordon.Nodes)
	case s.Drain != nil:
		return "drain: " + s.Drain.yaml()
	case s.Uncordon != nil:
		return "uncordon: " + words(s.Uncordon.Nodes)
	case s.Rollout != nil:
		var f flow
		if s.Rollout.Deployment != "" {
			f.add("deployment", word(s.Rollout.Deployment))
		}
		f.within(s.Rollout.Within, 0)
		return "rollout: " + f.String()
	case s.Pause != nil:
		return "pause: " + short(s.Pause.For)
	case s.StopLoad != nil:
		return "stop: " + word(s.StopLoad.Step)
	}
	return "pause: 1ms" // a step that does nothing
}

func (l *Load) yaml() string {
	var f flow
	switch l.Spec.Shape {
	case loadgen.Rate:
		f.add("rate", strconv.FormatFloat(l.Spec.PerSecond, 'f', -1, 64)+"/s")
	default:
		f.add(string(l.Spec.Shape), strconv.Itoa(l.Spec.N))
	}
	if l.Spec.Requests > 0 {
		f.add("requests", strconv.Itoa(l.Spec.Requests))
	}
	if l.Spec.For > 0 {
		f.add("for", short(l.Spec.For))
	}
	if l.Background {
		f.add("background", "true")
	}
	if l.Timeout > 0 {
		f.add("timeout", short(l.Timeout))
	}
	return f.String()
}

func (s *Switch) yaml() string {
	if s.How != power.ActionOff && s.Within == 0 {
		return words(s.Nodes)
	}
	var f flow
	f.add("nodes", words(s.Nodes))
	if s.How == power.ActionOff {
		f.add("how", "plug")
	}
	f.within(s.Within, 0)
	return f.String()
}

func (d *Drain) yaml() string {
	if d.Within == 0 || d.Within == DrainWithin {
		return words(d.Nodes)
	}
	var f flow
	f.add("nodes", words(d.Nodes))
	f.within(d.Within, DrainWithin)
	return f.String()
}

func (w *Wait) yaml() string {
	var f flow
	f.add("for", w.For)
	if len(w.Nodes) > 0 {
		f.add("nodes", words(w.Nodes))
	}
	if w.Deployment != "" {
		f.add("deployment", word(w.Deployment))
	}
	f.within(w.Within, waitWithin[w.For])
	if len(f) == 1 {
		return w.For
	}
	return f.String()
}

func (e Expectation) yaml() string {
	bound := func(v *float64) string {
		if isTime(e.Measure) {
			d := time.Duration(*v * float64(time.Second))
			if d.Seconds() == *v && (d == 0 || d >= time.Millisecond) {
				return short(d)
			}
		}
		return strconv.FormatFloat(*v, 'f', -1, 64)
	}
	var f flow
	switch {
	case e.Predicted:
		return "predicted"
	case Measures[e.Measure] == OfLedger:
		return "true"
	case e.Min != nil && e.Max != nil && *e.Min == *e.Max && !isTime(e.Measure):
		return bound(e.Min)
	}
	if e.Min != nil {
		f.add("min", bound(e.Min))
	}
	if e.Max != nil {
		f.add("max", bound(e.Max))
	}
	return f.String()
}

// bare is text that needs no quotes in YAML, unless it is one of the words
// that stand for something else.
var bare = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9 ._/()-]*[A-Za-z0-9._/()-])?$`)

func word(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
	default:
		if bare.MatchString(s) {
			return s
		}
	}
	return strconv.Quote(s)
}

func words(s []string) string {
	quoted := make([]string, len(s))
	for i, w := range s {
		quoted[i] = word(w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
