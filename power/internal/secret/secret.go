// Package secret reads the drivers' passwords and tokens, and keeps them out of every
// text.
package secret

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"strings"
	"unicode"

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

// Hide replaces secrets in text, also where they are written in base64, in a
// JSON string, in HTML or in a URL, and the password of each URL.
func Hide(text string, secrets ...string) string {
	text = userinfo.ReplaceAllString(text, "${1}"+hidden+"@")
	for _, s := range secrets {
		if s == "" {
			continue
		}
		quoted, _ := json.Marshal(s) // a string always can be
		markup := html.EscapeString(s)
		for _, form := range []string{
			s,
			strings.Trim(string(quoted), `"`),
			base64.StdEncoding.EncodeToString([]byte(s)),
			url.QueryEscape(s),
			url.PathEscape(s),
			strings.ReplaceAll(url.QueryEscape(s), "+", "%20"),
			strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`),
			markup,
			strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;").Replace(markup),
			strings.ReplaceAll(markup, "&#34;", "&quot;"),
			shellEscaped(s),
			strings.ReplaceAll(s, "'", `'\''`),
		} {
			if form != "" {
				text = strings.ReplaceAll(text, form, hidden)
			}
		}
	}
	return text
}

// shellEscaped is s as a shell's printf %q writes it: a backslash before each character
// that a shell may interpret.
func shellEscaped(s string) string {
	var out strings.Builder
	for _, r := range s {
		if r < 0x80 && !strings.ContainsRune("_./:=@%^,+-", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// Say makes a message of a program or a server safe to show: harmless for a terminal
// (power.Clean) and without the secrets. It hides those before and after cleaning,
// because removed characters may have split one.
func Say(text string, secrets ...string) string {
	return Hide(power.Clean(Hide(text, secrets...)), secrets...)
}
