package plan

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
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
		if s.Action == nil {
			line("  - pause: 1ms")
		} else {
			line("  - %s: %s", s.Action.Kind(), s.Action.value())
		}
		if s.Name != "" && s.Name != s.defaultName() && utf8.RuneCountInString(s.Name) <= maxStepName {
			line("    name: %s", word(s.Name))
		}
	}
	if len(p.Expect) > 0 {
		line("expect:")
	}
	for _, e := range p.Expect {
		line("  - %s: %s", e.Measure, e.value())
		switch {
		case e.Step != "":
			line("    step: %s", word(e.Step))
		case e.Subject != "" && measures[e.Measure].ofDeployment:
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

// word adds a word unless it is empty.
func (f *flow) word(name, value string) {
	if value != "" {
		f.add(name, word(value))
	}
}

// time adds a time unless it is 0 or what it is by default.
func (f *flow) time(name string, d, unless time.Duration) {
	if d > 0 && d != unless {
		f.add(name, short(d))
	}
}

// within is the field of that name, unless it is 0 or what it is by default.
func within(d, unless time.Duration) (f flow) {
	f.time("within", d, unless)
	return f
}

// behind is the value of a step about nodes, with the fields of f if there are any.
func (f flow) behind(nodes []string) string {
	if len(f) == 0 {
		return words(nodes)
	}
	return append(flow{"nodes: " + words(nodes)}, f...).String()
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
	return "[" + list(quoted) + "]"
}

func inTime(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return ", within " + short(d)
}

// short is d without zero minutes and seconds: 30m, not 30m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
