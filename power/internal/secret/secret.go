// Package secret reads the drivers' passwords and tokens, and keeps them out of every
// text.
package secret

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"lightsout/power"
)

// Source gives a secret as it now stands where it is kept. Its errors are one
// sentence and do not hold the secret.
type Source = func() (string, error)

// hidden replaces a secret.
const hidden = "(secret)"

// userinfo is the password of a URL (RFC 3986, 3.2.1), or all that stands before the host
// of a web address: some services take a token as the user.
var userinfo = regexp.MustCompile(`(://[^\s/?#@:]*:|\bhttps?://)[^\s/?#@]*@`)

// Hide replaces secrets in text, also as programs and servers write them: in base64, in JSON, in HTML,
// in a URL or escaped for a shell; and the password of each URL.
func Hide(text string, secrets ...string) string {
	text = userinfo.ReplaceAllString(text, "${1}"+hidden+"@")
	for _, s := range secrets {
		if s == "" {
			continue
		}
		text = strings.ReplaceAll(text, s, hidden)
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
			text = strings.ReplaceAll(text, e.EncodeToString([]byte(s)), hidden)
		}
		if written, err := regexp.Compile(pattern(s)); err == nil {
			text = written.ReplaceAllString(text, hidden)
		}
	}
	return text
}

// entities are the names of characters in HTML.
var entities = map[rune]string{'&': "amp", '<': "lt", '>': "gt", '"': "quot", '\'': "apos"}

// pattern matches a secret of which each character may be escaped.
func pattern(secret string) string {
	var out strings.Builder
	for len(secret) > 0 {
		r, n := utf8.DecodeRuneInString(secret)
		switch {
		case '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z':
			out.WriteRune(r)
		case r == utf8.RuneError && n == 1: // no UTF-8; the regexp reads such a byte of the text as this rune
			out.WriteString("(?:" + bytesWritten(secret[:n]) + `|\x{fffd}|\\{1,2}ufffd)`)
		default:
			out.WriteString("(?:" + strings.Join(written(r), "|") + ")")
		}
		secret = secret[n:]
	}
	return out.String()
}

// bytesWritten returns a pattern of the ways to write each byte of s by its number.
func bytesWritten(s string) string {
	var percent, hex, octal strings.Builder
	for _, b := range []byte(s) {
		fmt.Fprintf(&percent, "%%(?:25)?(?i:%02x)", b)
		fmt.Fprintf(&hex, `\\{1,2}x(?i:%02x)`, b)
		fmt.Fprintf(&octal, `\\{1,2}%03o`, b)
	}
	return percent.String() + "|" + hex.String() + "|" + octal.String()
}

// letters are the letters that stand for control characters after a backslash.
var letters = map[rune]string{'\a': "a", '\b': "b", '\t': "t", '\n': "n", '\v': "v", '\f': "f", '\r': "r", 0x1b: "e"}

// written returns patterns of the ways to write a character that is neither an ASCII letter nor a digit.
func written(r rune) []string {
	var units strings.Builder
	for _, u := range utf16.Encode([]rune{r}) {
		fmt.Fprintf(&units, `\\{1,2}u(?i:%04x)`, u)
	}
	forms := []string{
		bytesWritten(string(r)), units.String(), fmt.Sprintf(`\\{1,2}(?:U(?i:%08x)|u\{0*(?i:%x)\})`, r, r),
		fmt.Sprintf(`\\{0,2}&(?:amp;)?#0*%d;`, r), fmt.Sprintf(`\\{0,2}&(?:amp;)?#[xX]0*(?i:%x);`, r),
	}
	if name := entities[r]; name != "" {
		forms = append(forms, `\\{0,2}&(?:amp;)?`+name+";")
	}
	if letter := letters[r]; letter != "" {
		forms = append(forms, `\\{1,2}`+letter)
	}
	switch r {
	case '\\':
		return append(forms, `\\{1,4}`)
	case '\'':
		forms = append(forms, `'\\''`, `'"'"'`, `''`)
	case ' ':
		forms = append(forms, `\+`)
	}
	if 0x7f < r && r < 0x100 {
		forms = append(forms, fmt.Sprintf(`\\{1,2}x(?i:%02x)`, r))
	}
	return append(forms, `\\{0,3}`+regexp.QuoteMeta(string(r)))
}

// Say makes a message of a program or a server safe to show: harmless for a terminal
// (power.Clean) and without the secrets. It hides those before and after cleaning,
// because removed characters may have split one.
func Say(text string, secrets ...string) string {
	return Hide(power.Clean(Hide(text, secrets...)), secrets...)
}
