package record

import (
	"encoding/json"
	"maps"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// ownWords are the words in the format of a record. A name of such words alone stays: it reveals
// nothing, and the record would be unreadable without it.
var ownWords = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`load off on wait pause rollout drain cordon uncordon stop steps expect name about step deployment
		node pod link operator power event taint heartbeat endpoints record trial mark session shutdown
		ok fresh kept burst hold rate real fast pass fail aborted ready detected evicted replaced restored done failed
		how plug nodes within background timeout requests for all out true false null balanced predicted min max hung later
		error_window endpoints_out
		Running Pending Succeeded Failed Unknown Ready NotReady control-plane control plane worker kubernetes k8s io
		unreachable not-ready out-of-service NoSchedule NoExecute PreferNoSchedule v1 default
		http https ssh mdx cluster lab lightsout lease replicaset endpointslice deployment knative kubelet component assumed configz
		accepted bad changing clearing cut deferred degraded deleted down estimated good hostkey measured move partly preparing quit secret
		sending silent skipped switch uncertain unnoticed to come under way not back`) {
		ownWords[w] = true
	}
	for _, v := range []any{Sample{}, view.Event{}, loadgen.Record{}, Summary{}} {
		fieldNames(reflect.TypeOf(v), ownWord, map[reflect.Type]bool{})
	}
	for _, v := range values() {
		ownWord(v)
	}
}

// ownWord adds the words of a name or a value of the format: a name is replaced within a longer
// text too.
func ownWord(s string) {
	for _, w := range wordsOf(s) {
		if strings.ContainsFunc(w, unicode.IsLetter) { // a number may tell nodes apart
			ownWords[w] = true
		}
	}
}

func wordsOf(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r < utf8.RuneSelf && !wordByte(byte(r)) })
}

// values are those that the enumerated fields of a record can have, as far as lists have them; the
// words of the others are in ownWords.
func values() (out []string) {
	out = slices.Concat(out, view.PhaseNames, texts(loadgen.Classes()), texts(view.Codes()), texts(view.Verdicts), texts(cluster.Changes),
		texts(cluster.Kinds), texts(cluster.WorkloadKinds), texts(cluster.PlaceKinds), slices.Collect(maps.Values(view.SignSubjects)))
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

// Text replaces the names in a text, wherever one stands between the ends of words, and the addresses.
func (n *Names) Text(text string) string {
	if n == nil || text == "" {
		return text
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text(text)
}

func (n *Names) text(text string) string {
	var out strings.Builder
	last := 0
	for i := 0; i+2 <= len(text); i++ {
		if i > 0 && wordByte(text[i-1]) && wordByte(text[i]) {
			continue
		}
		for _, length := range n.lengths[text[i:i+2]] {
			end := i + length
			if end > len(text) || end < len(text) && wordByte(text[end-1]) && wordByte(text[end]) || n.standIn[text[i:end]] == "" {
				continue
			}
			out.WriteString(text[last:i] + n.standIn[text[i:end]])
			i, last = end-1, end
			break
		}
	}
	out.WriteString(text[last:])
	return n.addresses(out.String())
}

func wordByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// forms match what may be an address, with a colon before or after it. The kinds follow each other
// so that an IPv6 address may end with an IPv4 address.
var forms = []struct {
	kind NameKind
	form *regexp.Regexp
}{
	{nameIP, regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)},
	{nameMAC, regexp.MustCompile(`(?i)\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b`)},
	{nameIP, regexp.MustCompile(`(?i)[0-9a-f]*(?::[0-9a-f]*){2,8}`)},
}

// addresses replaces the addresses in a text. Those that every host has stay.
func (n *Names) addresses(text string) string {
	for _, f := range forms {
		text = f.form.ReplaceAllStringFunc(text, func(s string) string {
			for _, a := range []string{s, strings.TrimSuffix(s, ":"), strings.TrimPrefix(s, ":"), strings.Trim(s, ":")} {
				ip, err := netip.ParseAddr(a)
				switch {
				case !isAddress(a):
				case err == nil && (ip.IsLoopback() || ip.IsUnspecified()):
					return s
				default:
					return strings.Replace(s, a, n.address(f.kind, a), 1)
				}
			}
			return s
		})
	}
	return text
}

// quoted matches a string in JSON.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// JSON replaces the names in lines of JSON, keys and values alike.
func (n *Names) JSON(lines []byte) []byte {
	if n == nil {
		return lines
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return quoted.ReplaceAllFunc(lines, func(b []byte) []byte {
		var s string
		if json.Unmarshal(b, &s) != nil {
			return []byte(n.text(string(b)))
		}
		is := n.text(s)
		if is == s {
			return b
		}
		b, _ = json.Marshal(is) // it never fails: it is text
		return b
	})
}

// sgr matches the sequences that give a text its looks.
var sgr = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// Line replaces the names in a line of a screen, which may hold SGR sequences. What an ellipsis
// leaves of a name or an address becomes x. Where a stand-in is longer than its name, names are not
// looked for across the sequences.
func (n *Names) Line(line string) string {
	if n == nil || line == "" {
		return line
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	looks, texts := append([]string{""}, sgr.FindAllString(line, -1)...), sgr.Split(line, -1)
	was := strings.Join(texts, "")
	is := n.screenText(was)
	inPlace := len(is) == len(was) // byte by byte
	var out strings.Builder
	for i, t := range texts {
		if inPlace {
			t, is = is[:len(t)], is[len(t):]
		} else {
			t = n.screenText(t)
		}
		out.WriteString(looks[i] + t)
	}
	return out.String()
}

var (
	// cutWord matches the words that an ellipsis cuts, with it.
	cutWord = regexp.MustCompile(`[\pL\pN.:_-]*(?:…|\.{2,})[\pL\pN.:_-]*`)
	letter  = regexp.MustCompile(`[\pL\pN]`)
)

// screenText replaces the names in a text of a screen.
func (n *Names) screenText(text string) string {
	return n.text(cutWord.ReplaceAllStringFunc(text, n.masked))
}

// masked replaces what is left of a cut word by x, letter by letter: it may be of a name or an
// address. A word without a digit that has no part of a name beside the cut stays.
func (n *Names) masked(word string) string {
	const beside = 3
	head, tail, _ := strings.Cut(strings.Trim(strings.ReplaceAll(word, "..", "…"), "."), "…")
	head, tail = head[max(0, len(head)-beside):], tail[:min(beside, len(tail))]
	if !strings.ContainsAny(word, "0123456789") && n.text(word) == word && !n.partly(head) && !n.partly(tail) {
		return word
	}
	return letter.ReplaceAllStringFunc(word, func(s string) string { return strings.Repeat("x", ansi.StringWidth(s)) })
}

// partly reports whether a text is a part of a name.
func (n *Names) partly(text string) bool {
	for name := range n.standIn {
		if text != "" && strings.Contains(name, text) {
			return true
		}
	}
	return false
}
