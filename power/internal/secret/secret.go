// Package secret reads the drivers' passwords and tokens, and keeps them out of every
// text.
package secret

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"lightsout/power"
)

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

// pattern matches a secret of which each character may be escaped: with backslashes, in a
// URL, in JSON, in HTML, or for a shell.
func pattern(secret string) string {
	var out strings.Builder
	for _, r := range secret {
		if '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			out.WriteRune(r)
			continue
		}
		var percent strings.Builder
		for _, b := range []byte(string(r)) {
			fmt.Fprintf(&percent, "%%(?:25)?%02x", b)
		}
		fmt.Fprintf(&out, `(?i:\\{0,3}%s|%s|\\{1,2}u%04x|\\?&#(?:0*%d|x0*%x);`, regexp.QuoteMeta(string(r)), percent.String(), r, r, r)
		switch {
		case r == '\'':
			out.WriteString(`|'\\''|'"'"'|''`)
		case r == ' ':
			out.WriteString(`|\+`)
		}
		if name := entities[r]; name != "" {
			out.WriteString("|&(?:amp;)?" + name + ";")
		}
		out.WriteString(")")
	}
	return out.String()
}

// Say makes a message of a program or a server safe to show: harmless for a terminal
// (power.Clean) and without the secrets. It hides those before and after cleaning,
// because removed characters may have split one.
func Say(text string, secrets ...string) string {
	return Hide(power.Clean(Hide(text, secrets...)), secrets...)
}
