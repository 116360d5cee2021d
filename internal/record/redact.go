package record

import (
	_ "embed" // words.txt
	"encoding/json"
	"net/netip"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// words are the words in the names and values of the format of a record, and in names that every cluster or
// host has.
// A name of such words alone stays: it reveals nothing, and the record would be unreadable without it.
//
//go:embed words.txt
var words string

var ownWords = map[string]bool{}

func init() {
	for w := range strings.FieldsSeq(words) {
		ownWords[w] = true
	}
}

func wordsOf(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r < utf8.RuneSelf && !wordByte(byte(r)) })
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

// Line replaces the names in a line of a screen, which may hold SGR sequences: it loses them where a
// stand-in has not the length of its name. What an ellipsis leaves of a word becomes x.
func (n *Names) Line(line string) string {
	if n == nil || line == "" {
		return line
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	looks, texts := append([]string{""}, sgr.FindAllString(line, -1)...), sgr.Split(line, -1)
	was := strings.Join(texts, "")
	is := n.text(cutWord.ReplaceAllStringFunc(was, n.masked))
	if len(is) != len(was) {
		return is
	}
	var out strings.Builder
	for i, t := range texts {
		out.WriteString(looks[i] + is[:len(t)])
		is = is[len(t):]
	}
	return out.String()
}

var (
	// cutWord matches the words that an ellipsis cuts, with it.
	cutWord = regexp.MustCompile(`[\pL\pN.:_-]*(?:…|\.{2,})[\pL\pN.:_-]*`)
	letter  = regexp.MustCompile(`[\pL\pN]`)
)

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
