package power

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode"
)

// Error lists the machines that match.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%d machines match node %s (%s): name the right one under power.nodes in the configuration",
		len(e.Matches), e.Node, strings.Join(e.Matches, ", "))
}

// Error says why it can't be told.
func (e *UnconfirmedError) Error() string {
	return "it can't be told whether the request arrived: " + e.Why
}

// RefusedError says that a driver or the other side refused for a reason that
// does not go away by asking again (a wrong token, a VM that is not there, a
// state from which the action is not possible). Nothing was switched.
type RefusedError struct{ Why string }

// Error gives the reason, which is one whole sentence.
func (e *RefusedError) Error() string { return e.Why }

// ActionError says which nodes an action did not succeed for. The others did.
type ActionError struct {
	Action Action
	// Failed holds one sentence for each node.
	Failed map[string]string
}

// Error gives every node's sentence, by name.
func (e *ActionError) Error() string {
	names := make([]string, 0, len(e.Failed))
	for name := range e.Failed {
		names = append(names, name)
	}
	sort.Strings(names)
	parts := make([]string, 0, len(names))
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s: %s", name, e.Failed[name]))
	}
	return fmt.Sprintf("%s did not succeed for %d of the nodes: %s", e.Action, len(names), strings.Join(parts, "; "))
}

var (
	errNoJournal = errors.New("nothing is switched, because there is no journal to write it down in")
	errReadOnly  = errors.New("nothing is switched in read-only mode")
)

// cleanLimit is the longest text, in characters, that Clean lets through.
const cleanLimit = 300

// Clean makes a string from another machine harmless for a terminal and for a
// one-line record: control characters, escape sequences and bidirectional or
// other invisible formatting characters are taken out, white space becomes
// single blanks, and what is longer than 300 characters is cut.
func Clean(s string) string {
	var b strings.Builder
	blank, n := false, 0
	for _, r := range stripEscapes(s) {
		switch {
		case unicode.IsSpace(r):
			blank = b.Len() > 0
			continue
		case r == unicode.ReplacementChar, unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs):
			continue
		}
		if n >= cleanLimit {
			b.WriteString("…")
			break
		}
		if blank {
			b.WriteByte(' ')
			blank = false
			n++
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// stripEscapes takes out whole terminal escape sequences (ECMA-48), so that
// their visible remains ("[31m") don't litter the text.
func stripEscapes(s string) string {
	if !strings.ContainsAny(s, "\x1b\u009b\u009d\u0090") {
		return s
	}
	var b strings.Builder
	rs := []rune(s)
	for i := 0; i < len(rs); i++ {
		kind := rs[i]
		if kind == 0x1b && i+1 < len(rs) {
			i++
			switch rs[i] {
			case '[':
				kind = 0x9b
			case ']', 'P', '_', '^', 'X':
				kind = 0x9d
			default:
				continue
			}
		}
		switch kind {
		case 0x9b: // CSI: up to a final byte
			for i++; i < len(rs) && (rs[i] < 0x40 || rs[i] > 0x7e); i++ {
			}
		case 0x9d, 0x90: // a string: up to BEL or ST
			for i++; i < len(rs) && rs[i] != 0x07 && rs[i] != 0x9c; i++ {
				if rs[i] == 0x1b && i+1 < len(rs) && rs[i+1] == '\\' {
					i++
					break
				}
			}
		case 0x1b:
		default:
			b.WriteRune(rs[i])
		}
	}
	return b.String()
}
