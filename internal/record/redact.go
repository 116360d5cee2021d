package record

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// ownWords are words in the format of a record. A name that is one of them stays: it
// reveals nothing, and the record would be unreadable without it.
var ownWords = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`load off on wait pause rollout drain cordon uncordon stop steps expect name about step deployment
		node pod link operator power event taint heartbeat endpoints record trial mark session shutdown
		ok fresh kept burst hold rate real fast pass fail aborted ready detected evicted replaced restored done failed
		how plug nodes within background timeout requests for all out true false null balanced predicted min max hung later
		error_window endpoints_out
		Running Pending Succeeded Failed Unknown Ready NotReady control-plane control plane worker kubernetes k8s io
		unreachable not-ready out-of-service NoSchedule NoExecute PreferNoSchedule v1 default
		http https ssh mdx cluster lab lightsout lease replicaset endpointslice deployment knative kubelet component assumed configz`) {
		ownWords[w] = true
	}
	for _, v := range []any{Sample{}, view.Event{}, loadgen.Record{}, Summary{}} {
		fieldNames(reflect.TypeOf(v), ownWord, map[reflect.Type]bool{})
	}
	for _, v := range values() {
		ownWord(v)
	}
}

// ownWord adds a name or a value of the format, and all parts of it that begin and end where
// a word does: a name is replaced within a longer text too.
func ownWord(s string) {
	for i := range len(s) {
		if i > 0 && (wordByte(s[i-1]) || !wordByte(s[i])) {
			continue
		}
		for j := i + 1; j <= len(s); j++ {
			if j == len(s) || wordByte(s[j-1]) && !wordByte(s[j]) {
				ownWords[s[i:j]] = true
			}
		}
	}
}

// values are those that the enumerated fields of a record can have.
func values() (out []string) {
	out = slices.Concat(out, view.PhaseNames, texts(loadgen.Classes()), texts(view.Codes()), texts(view.Verdicts), texts(cluster.Changes))
	out = slices.Concat(out,
		texts([]loadgen.Shape{loadgen.Burst, loadgen.Hold, loadgen.Rate}),
		texts([]loadgen.Basis{loadgen.BasisIdle, loadgen.BasisMeasured, loadgen.BasisPartial, loadgen.BasisEstimated}),
		texts([]Severity{SeverityUnknown, SeverityUnnoticed, SeverityDegraded, SeverityDown}),
		texts([]cluster.Health{cluster.HealthGood, cluster.HealthBad, cluster.HealthChanging}),
		texts([]cluster.Cause{cluster.CauseShutdown, cluster.CauseNodeNotReady, cluster.CauseEvicted, cluster.CauseDeleted}),
		texts(slices.Concat(cluster.Kinds, cluster.WorkloadKinds, cluster.PlaceKinds, []cluster.Kind{cluster.KindKnativeService, cluster.KindRevision})),
		texts([]power.Action{power.ActionShutdown, power.ActionOff, power.ActionOn}),
		texts([]power.Stage{power.StagePreparing, power.StageDeferred, power.StageWaiting, power.StageSending, power.StageAccepted,
			power.StageDone, power.StageFailed, power.StageUncertain, power.StageClearing}))
	out = slices.Concat(out,
		texts([]view.Lane{view.LanePower, view.LaneHeartbeat, view.LaneNode, view.LaneTaint, view.LanePod, view.LaneEndpoints,
			view.LaneDeployment, view.LaneEvent, view.LaneLoad, view.LaneLink, view.LaneOperator}),
		texts([]view.StepState{view.StepToCome, view.StepUnderWay, view.StepDone, view.StepFailed, view.StepSkipped, view.StepCut}),
		texts([]view.SpanKind{view.SpanOff, view.SpanSilent, view.SpanNotReady}),
		texts([]view.Sign{view.SignSilent, view.SignNotReady, view.SignNotBack, view.SignEndpoints, view.SignRequests, view.SignPending, view.SignAPI}),
		slices.Collect(maps.Values(view.SignSubjects)),
		texts([]view.QuestionKind{view.QuestionSwitch, view.QuestionDrain, view.QuestionRestore, view.QuestionQuit, view.QuestionTrial,
			view.QuestionRollout, view.QuestionLoad, view.QuestionMove, view.QuestionHostKey, view.QuestionSecret}))
	for s := power.Unknown; s <= power.Transitioning; s++ {
		out = append(out, s.String())
	}
	for p := power.ProofNone; p <= power.Proven; p++ {
		out = append(out, p.String())
	}
	return out
}

// texts are the values of an enumeration as a record has them.
func texts[T ~string](values []T) (out []string) {
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}

// fieldNames calls add with the names that a type's fields have in JSON.
func fieldNames(t reflect.Type, add func(string), been map[reflect.Type]bool) {
	if been[t] {
		return
	}
	been[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		fieldNames(t.Elem(), add, been)
	case reflect.Map:
		fieldNames(t.Key(), add, been)
		fieldNames(t.Elem(), add, been)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			add(name)
			fieldNames(f.Type, add, been)
		}
	}
}

// inJSON replaces the names in a JSON string, given without its quotes.
func (n *Names) inJSON(b []byte) []byte {
	var s string
	if bytes.IndexByte(b, '\\') < 0 || json.Unmarshal(slices.Concat([]byte(`"`), b, []byte(`"`)), &s) != nil {
		return []byte(n.text(string(b)))
	}
	is := n.text(s)
	if is == s {
		return b
	}
	out, err := json.Marshal(is)
	if err != nil {
		return nil // impossible: it is text
	}
	return out[1 : len(out)-1]
}

// JSON replaces the names in lines of JSON, keys and values alike. Pseudonyms need no
// escapes, so that readable lines stay readable.
func (n *Names) JSON(lines []byte) []byte {
	if n == nil {
		return lines
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]byte, 0, len(lines))
	for inside := false; ; inside = !inside {
		end := 0 // the next quote that is not escaped
		for end < len(lines) && lines[end] != '"' {
			if lines[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(lines))
		if inside {
			out = append(out, n.inJSON(lines[:end])...)
		} else {
			out = append(out, lines[:end]...)
		}
		if end == len(lines) {
			return out
		}
		out, lines = append(out, '"'), lines[end+1:]
	}
}

// Line replaces the names in a line of a screen, which may hold SGR sequences.
// What an ellipsis leaves of a name or an address becomes x. Where a stand-in is longer than its name, names are not looked for across
// the sequences.
func (n *Names) Line(line string) string {
	if n == nil || line == "" {
		return line
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	parts := strings.Split(line, "\x1b")
	sgr, was := make([]string, len(parts)), ""
	for i, p := range parts {
		if end := strings.IndexByte(p, 'm') + 1; i > 0 {
			sgr[i], parts[i] = p[:end], p[end:]
		}
		was += parts[i]
	}
	is := n.screenText(was)
	inPlace := len(is) == len(was) // byte by byte
	for i, p := range parts {
		if inPlace {
			p, is = is[:len(p)], is[len(p):]
		} else {
			p = n.screenText(p)
		}
		parts[i] = sgr[i] + p
	}
	return strings.Join(parts, "\x1b")
}

// cutWord matches the words that an ellipsis cuts, with it.
var cutWord = regexp.MustCompile(`[\pL\pN.:_-]*(?:…|\.{2,})[\pL\pN.:_-]*`)

// screenText replaces the names in a text of a screen.
func (n *Names) screenText(text string) string {
	var out strings.Builder
	last := 0
	for _, at := range cutWord.FindAllStringIndex(text, -1) {
		out.WriteString(n.text(text[last:at[0]]))
		out.WriteString(n.masked(text[at[0]:at[1]]))
		last = at[1]
	}
	return out.String() + n.text(text[last:])
}

// masked replaces what is left of a cut word by x, letter by letter: it may be of a name or an address.
// A word that has no digit and no part of a name stays.
func (n *Names) masked(word string) string {
	head, tail, _ := strings.Cut(strings.Trim(strings.ReplaceAll(word, "..", "…"), "."), "…")
	if !strings.ContainsAny(word, "0123456789") && n.text(word) == word && !n.isCut(head, tail) {
		return word
	}
	return letter.ReplaceAllStringFunc(word, func(s string) string { return strings.Repeat("x", ansi.StringWidth(s)) })
}

var letter = regexp.MustCompile(`[\pL\pN]`)

// leastCut is how much of a name must be left of it, on one side, to tell something.
const leastCut = 3

// isCut reports whether a part of head, from the beginning of a word on, begins a name, or a part of
// tail ends one.
func (n *Names) isCut(head, tail string) bool {
	for i := range head {
		if part := head[i:]; len(part) >= leastCut && !ownWords[part] && n.begin(head, i) && n.some(part, strings.HasPrefix) {
			return true
		}
	}
	for i := len(tail); i >= leastCut; i-- {
		if part := tail[:i]; !ownWords[part] && n.some(part, strings.HasSuffix) {
			return true
		}
	}
	return false
}

// some reports whether text is such a part of a name.
func (n *Names) some(text string, isPart func(name, text string) bool) bool {
	for name := range n.standIn {
		if isPart(name, text) {
			return true
		}
	}
	return false
}
