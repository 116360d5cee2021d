// Package secret is how the drivers take passwords and tokens, and how these
// are kept out of whatever is said.
package secret

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"lightsout/power"
)

// Source gives a secret as it now stands where it is kept. Its errors are one
// sentence and do not hold the secret.
type Source = func() (string, error)

// hidden is what stands in a secret's place.
const hidden = "(secret)"

// Hide replaces secrets in text, also where they are written in base64, in a
// JSON string or in a URL.
func Hide(text string, secrets ...string) string {
	for _, s := range secrets {
		if s == "" {
			continue
		}
		quoted, _ := json.Marshal(s) // a string always can be
		for _, form := range []string{
			s,
			strings.Trim(string(quoted), `"`),
			base64.StdEncoding.EncodeToString([]byte(s)),
			url.QueryEscape(s),
			url.PathEscape(s),
		} {
			if form != "" {
				text = strings.ReplaceAll(text, form, hidden)
			}
		}
	}
	return text
}

// Say makes what a program or a server said fit to be shown: harmless for a
// terminal (power.Clean) and without the secrets. Those are looked for before
// and after, for what is taken out may have stood in the middle of one.
func Say(text string, secrets ...string) string {
	return Hide(power.Clean(Hide(text, secrets...)), secrets...)
}
