package loadgen

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// leastSecret is the least length of a value that is masked: shorter ones are words.
const leastSecret = 8

// maskOf returns what masks the values with which a target identifies the client, since servers
// repeat keys in their answers: the API key, the password (the user where there is none, as many
// services take a token), and the values of headers and of the query, each as it is and as in a
// URL. authorization is the header that is sent.
func maskOf(t Target, u *url.URL, authorization string) *strings.Replacer {
	password, _ := u.User.Password()
	values := []string{t.APIKey, password, authorization}
	if password == "" {
		values = append(values, u.User.Username())
	}
	for _, all := range t.Header {
		values = append(values, all...)
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		_, raw, named := strings.Cut(part, "=")
		if !named {
			raw = part // a token alone
		}
		values = append(values, raw)
		if v, err := url.QueryUnescape(raw); err == nil {
			values = append(values, v)
		}
	}
	// A value may have a secret in it: after "Bearer", or as one of several cookies.
	for _, v := range slices.Clone(values) {
		values = append(values, strings.FieldsFunc(v, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`;,="`, r) })...)
	}
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) }) // a longer one first: another may be its beginning
	var pairs []string
	for _, v := range values {
		if len(v) >= leastSecret {
			pairs = append(pairs, v, "…", url.QueryEscape(v), "…")
		}
	}
	return strings.NewReplacer(pairs...)
}
