package record

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

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
// A name that is cut off there, or in its middle, as an ellipsis shows, is replaced as
// far as it goes. Where a stand-in is longer than its name, names are not looked for across
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

// leastCut is how much of a name must be left of it, on one side, to be replaced.
const leastCut = 3

// ellipses matches the mark of a cut.
var ellipses = regexp.MustCompile(`…|\.{2,}`)

// screenText replaces the names in a text of a screen. It looks for cut names first: the rest
// of one may contain another name as a whole.
func (n *Names) screenText(text string) string {
	var out strings.Builder
	last := 0
	for _, at := range ellipses.FindAllStringIndex(text, -1) {
		c := n.cutAt(text[last:at[0]], text[at[1]:])
		out.WriteString(n.text(text[last : at[0]-len(c.head)]))
		out.WriteString(c.headIs + text[at[0]:at[1]] + c.tailIs)
		last = at[1] + len(c.tail)
	}
	return out.String() + n.text(text[last:])
}

// cutName holds the parts of a name before and after an ellipsis, and their stand-ins.
type cutName struct{ head, headIs, tail, tailIs string }

// cutAt finds the rest of a name, or of two, at the ellipsis between two texts.
func (n *Names) cutAt(before, after string) (c cutName) {
	head := n.longestPart(n.endsOf(before), strings.HasPrefix)
	tail := n.longestPart(n.beginningsOf(after), strings.HasSuffix)
	if s := n.standInOf(head, tail); s != "" && head != "" && tail != "" && len(head)+len(tail) > leastCut {
		return cutName{head, s[:len(head)], tail, s[len(s)-len(tail):]}
	}
	if telling(head) {
		c.head, c.headIs = head, n.standInOf(head, "")[:len(head)]
	} else if at := addressBegin(before); at != "" {
		c.head, c.headIs = at, digits.ReplaceAllString(at, "x")
	}
	if telling(tail) {
		s := n.standInOf("", tail)
		c.tail, c.tailIs = tail, s[len(s)-len(tail):]
	} else if at := addressRest(after); at != "" {
		c.tail, c.tailIs = at, digits.ReplaceAllString(at, "x")
	}
	return c
}

// cutAddress matches the beginning of an IPv4 address before an ellipsis, and addressEnd the end
// of one after it. They do not match a number with a decimal point. cutGroups and groupsEnd match
// the beginning and the end of an IPv6 address or a MAC, and also a time of the day.
var (
	cutAddress = regexp.MustCompile(`(?:^|[^0-9A-Za-z.])([0-9]{1,3}\.[0-9]{1,3}(?:\.[0-9]{0,3}){1,2})$`)
	addressEnd = regexp.MustCompile(`^[0-9]{0,3}(?:(?:\.[0-9]{1,3}){2,3}\b|\.[0-9]{1,3}:[0-9]{2,5}\b)`)
	cutGroups  = regexp.MustCompile(`(?:^|[^0-9A-Za-z.:])((?:[0-9A-Fa-f]{1,4}:){2,}[0-9A-Fa-f]{0,4})$`)
	groupsEnd  = regexp.MustCompile(`^[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{1,4}){2,}\b`)
	timeOfDay  = regexp.MustCompile(`^[0-9]{0,2}:[0-9]{2}:[0-9]{0,2}$`)
	digits     = regexp.MustCompile(`[0-9A-Fa-f]`)
)

// addressBegin returns the beginning of an address with which a text ends; empty if there is none.
func addressBegin(text string) string {
	if at := cutAddress.FindStringSubmatch(text); at != nil {
		return at[1]
	}
	if at := cutGroups.FindStringSubmatch(text); at != nil && !timeOfDay.MatchString(at[1]) {
		return at[1]
	}
	return ""
}

// addressRest returns the end of an address with which a text begins; empty if there is none.
func addressRest(text string) string {
	if at := addressEnd.FindString(text); at != "" {
		return at
	}
	if at := groupsEnd.FindString(text); !timeOfDay.MatchString(at) {
		return at
	}
	return ""
}

// telling reports whether a part of a name tells something about it.
func telling(part string) bool {
	return len(part) >= leastCut && !plainNames[part] && !ownWords[part] && strings.Trim(part, "0123456789") != ""
}

// endsOf returns the ends of a text that begin where a name may, the longest first.
func (n *Names) endsOf(text string) (out []string) {
	for i := max(0, len(text)-n.longest); i < len(text); i++ {
		if n.begin(text, i) {
			out = append(out, text[i:])
		}
	}
	return out
}

// beginningsOf returns the beginnings of a text that end where a name may, the longest first.
func (n *Names) beginningsOf(text string) (out []string) {
	for i := min(len(text), n.longest); i > 0; i-- {
		if n.ends(text, i) {
			out = append(out, text[:i])
		}
	}
	return out
}

// ends reports whether a name may end before i.
func (n *Names) ends(text string, i int) bool {
	if !wordByte(text[i-1]) {
		return n.odd[text[i-1]]
	}
	return i == len(text) || !wordByte(text[i])
}

// longestPart returns the first of the texts that is a part of a name; empty if none is.
func (n *Names) longestPart(texts []string, isPart func(name, text string) bool) string {
	for _, text := range texts {
		for name := range n.standIn {
			if isPart(name, text) {
				return text
			}
		}
	}
	return ""
}

// standInOf returns the stand-in of the first name, in the order of the alphabet, that begins
// with head and ends with tail; empty if there is none. A stand-in is as long as its name, or
// longer.
func (n *Names) standInOf(head, tail string) string {
	first := ""
	for name := range n.standIn {
		fits := len(head)+len(tail) <= len(name) && strings.HasPrefix(name, head) && strings.HasSuffix(name, tail)
		if fits && (first == "" || name < first) {
			first = name
		}
	}
	return n.standIn[first]
}
