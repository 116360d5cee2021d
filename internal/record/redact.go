package record

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// ownWords are words in the format of a record. A name that is one of them stays: it
// reveals nothing, and the record would be unreadable without it.
var ownWords = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`load off on wait pause rollout drain cordon uncordon stop steps expect name about step deployment
		node pod link operator power event taint heartbeat endpoints record trial mark session shutdown
		ok fresh kept burst hold rate real fast pass fail aborted ready detected evicted replaced restored done failed
		how plug nodes within background timeout requests for all out true false null balanced predicted min max
		http https ssh mdx cluster lab lightsout lease replicaset endpointslice deployment knative kubelet`) {
		ownWords[w] = true
	}
	for _, v := range []any{Sample{}, view.Event{}, loadgen.Record{}, Summary{}} {
		fieldNames(reflect.TypeOf(v), ownWords, map[reflect.Type]bool{})
	}
}

// fieldNames gathers the names that a type's fields have in JSON.
func fieldNames(t reflect.Type, into map[string]bool, been map[reflect.Type]bool) {
	if been[t] {
		return
	}
	been[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		fieldNames(t.Elem(), into, been)
	case reflect.Map:
		fieldNames(t.Key(), into, been)
		fieldNames(t.Elem(), into, been)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			into[name] = true
			fieldNames(f.Type, into, been)
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
// A name that is cut off there, as its ellipsis shows, is replaced as far as it
// goes. Where a stand-in is longer than its name, names are not looked for across
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
	is := n.cut(n.text(was))
	inPlace := len(is) == len(was) // byte by byte
	for i, p := range parts {
		if inPlace {
			p, is = is[:len(p)], is[len(p):]
		} else {
			p = n.cut(n.text(p))
		}
		parts[i] = sgr[i] + p
	}
	return strings.Join(parts, "\x1b")
}

// leastCut is how much of a name must be left of it to be replaced.
const leastCut = 3

// cut replaces a text before an ellipsis that begins as a name does.
func (n *Names) cut(text string) string {
	for _, ellipsis := range []string{"…", ".."} {
		for from := 0; ; {
			i := strings.Index(text[from:], ellipsis)
			if i < 0 {
				break
			}
			end := from + i
			if start, s := n.begins(text[:end]); s != "" {
				text = text[:start] + s + text[end:]
			}
			from = end + len(ellipsis)
		}
	}
	return text
}

// begins returns the longest end of text with which a name begins, and its pseudonym.
func (n *Names) begins(text string) (start int, standIn string) {
	for start := max(0, len(text)-64); start <= len(text)-leastCut; start++ {
		if start > 0 && wordByte(text[start-1]) {
			continue
		}
		for name, s := range n.standIn {
			if strings.HasPrefix(name, text[start:]) && len(s) >= len(text)-start {
				return start, s[:len(text)-start]
			}
		}
	}
	return 0, ""
}
