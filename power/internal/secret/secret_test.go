package secret

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestASecretIsHiddenInEveryForm(t *testing.T) {
	const s = `pa"ss wörd/1`
	for name, text := range map[string]string{
		"plain":  "login " + s + " refused",
		"json":   `{"password":"pa\"ss wörd/1"}`,
		"base64": "Basic " + base64.StdEncoding.EncodeToString([]byte(s)),
		"query":  "x?p=pa%22ss+w%C3%B6rd%2F1",
		"shell":  `pa\"ss\ wörd/1`,
		"split":  "pa\"ss\x00 wö\u202erd/1",
		"escape": "pa\"ss \x1b[31mwörd/1",
	} {
		got := Say(text, s)
		if !strings.Contains(got, hidden) || strings.Contains(got, "rd/1") || strings.Contains(got, "ss w") {
			t.Errorf("%s: %q", name, got)
		}
	}
	for text, want := range map[string]string{
		"curl: https://admin:pass@host:443/x failed": "curl: https://(secret)@host:443/x failed",
		"GET http://host:80/a@b":                     "GET http://host:80/a@b",
		"GET https://token@host/x":                   "GET https://(secret)@host/x",
		"dial amqp://user:a:b@host":                  "dial amqp://user:(secret)@host",
		"dial ssh://root@host":                       "dial ssh://root@host",
	} {
		if got := Say(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := Say("nothing to hide\x1b[2J", "", s); got != "nothing to hide" {
		t.Errorf("got %q", got)
	}
}

// A controller may repeat a password as it escapes it.
func TestASecretIsHiddenAsServersEscapeIt(t *testing.T) {
	const s = `S3cr&t"p@ss<w>/x y`
	for _, text := range []string{
		`S3cr&amp;t&quot;p@ss&lt;w&gt;/x y`, `S3cr&amp;t&#34;p@ss&lt;w&gt;/x y`, `S3cr%26t%22p%40ss%3Cw%3E%2Fx%20y`,
		`S3cr%26t%22p%40ss%3Cw%3E%2Fx+y`, `S3cr&t\"p@ss<w>/x y`,
	} {
		if got := Say("login "+text+" refused", s); got != "login "+hidden+" refused" {
			t.Errorf("%q", got)
		}
	}
}

// Each language escapes in its own way.
func TestASecretIsHiddenAsLanguagesEscapeIt(t *testing.T) {
	const s = `a!b/c'd"e(x)é\f`
	for name, text := range map[string]string{
		"Python html.escape":   `a!b/c&#x27;d&quot;e(x)é\f`,
		"PHP htmlspecialchars": `a!b/c&#039;d&quot;e(x)é\f`,
		"encodeURIComponent":   `a!b%2Fc'd%22e(x)%C3%A9%5Cf`,
		"lower-case percent":   `a%21b%2fc%27d%22e%28x%29%c3%a9%5cf`,
		"percent twice":        `a%2521b%252fc%2527d%2522e%2528x%2529%25c3%25a9%255cf`,
		"Python json.dumps":    `a!b/c'd\"e(x)\u00e9\\f`,
		"PHP json_encode":      `a!b\/c'd\"e(x)\u00e9\\f`,
		"Python repr":          `a!b/c\'d"e(x)é\\f`,
		"Go %q in HTML":        `a!b/c&#39;d\&#34;e(x)é\\f`,
		"base64 for URLs":      "YSFiL2MnZCJlKHgpw6lcZg",
		"a shell's quotes":     `a!b/c'\''d"e(x)é\f`,
	} {
		if got := Say("login "+text+" refused", s); got != "login "+hidden+" refused" {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, c := range []struct{ secret, text string }{
		{"it's12", `{"pw":"it'"'"'s12"}`}, {"it's12", `{"pw":"it''s12"}`}, {`it"s12`, `{"pw":"it&amp;quot;s12"}`},
	} {
		if got := Hide(c.text, c.secret); got != `{"pw":"`+hidden+`"}` {
			t.Errorf("%q in %q: %q", c.secret, c.text, got)
		}
	}
	if got := Say("login admin refused: a.b*c", "a+b*c"); got != "login admin refused: a.b*c" {
		t.Errorf("%q", got)
	}
}
