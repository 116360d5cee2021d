package loadgen

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// leastSecret is the least length of a header's or a query's value that is hidden: shorter
// ones are words. leastNamed is that of one whose name is that of a secret.
const (
	leastSecret = 8
	leastNamed  = 4
)

// SecretWords, in a regular expression, stand anywhere in names of secrets; SecretParts stand alone
// or between separators.
const (
	SecretWords = `auth|cookie|key|token|secret|passw|credential`
	SecretParts = `sig|signature|sas|hmac|jwt|code|otp|pass|pin|pwd|session|sessionid|sid`
)

// SecretName fits the names of secrets.
var SecretName = regexp.MustCompile(`(?i)` + SecretWords + `|(?:^|[-_.])(?:` + SecretParts + `)(?:$|[-_.])`)

// least is the least length of a value of that name that is hidden.
func least(name string) int {
	if SecretName.MatchString(name) && name != "max_tokens" {
		return leastNamed
	}
	return leastSecret
}

// secrets are the values with which a target identifies the client, the longest first.
type secrets []secret

// secret finds a value in a text, in every form in which servers repeat it.
type secret struct {
	// part is the longest part of the value that every form contains as it is. Most texts
	// lack it, and looking for it is cheap.
	part string
	form *regexp.Regexp
	// beside, unless nil, reports whether a byte beside it makes it a part of a word.
	beside func(byte) bool
}

// hide replaces the secrets in a text.
func (all secrets) hide(text string) string {
	for _, s := range all {
		if strings.Contains(text, s.part) {
			text = s.hide(text)
		}
	}
	return text
}

// secretsOf returns the secrets of a target.
func secretsOf(t Target, u *url.URL) (out secrets) {
	values := slices.Concat([]string{t.APIKey}, inUser(u.User), inHeader(t.Header), inQuery(u.RawQuery))
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	for _, v := range slices.Compact(values) {
		if v != "" {
			out = append(out, newSecret(v))
		}
		if len(v) >= leastSecret { // a service may repeat it encoded
			out = append(out, newSecret(base64.RawStdEncoding.EncodeToString([]byte(v))), newSecret(base64.RawURLEncoding.EncodeToString([]byte(v))))
		}
	}
	for _, key := range keysOf(t, u) {
		out = append(out, begunSecret(key))
	}
	return out
}

// inUser returns the secrets of a URL's user. Many services take a token as the user, with an
// empty password.
func inUser(u *url.Userinfo) (values []string) {
	user := u.Username()
	password, _ := u.Password()
	token := password == "" && len(user) >= leastSecret
	if token {
		values = append(values, user)
	}
	if token || password != "" {
		values = append(values, password, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	}
	return values
}

// inHeader returns the secrets of headers.
func inHeader(h http.Header) (values []string) {
	for name, all := range h {
		for _, v := range all {
			values = append(values, inValue(name, v)...)
		}
	}
	return values
}

// inValue returns the secrets of a header's value.
func inValue(name, v string) (values []string) {
	parts := longParts(v)
	if len(parts) > 0 || len(v) >= least(name) {
		values = append(append(values, v), parts...)
	}
	scheme, encoded, _ := strings.Cut(v, " ")
	if pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded)); err == nil && strings.EqualFold(scheme, "Basic") {
		user, password, _ := strings.Cut(string(pair), ":")
		values = append(values, inUser(url.UserPassword(user, password))...)
	}
	return values
}

// inQuery returns the secrets of a URL's query, in which parameters may lack a name.
func inQuery(query string) (values []string) {
	for part := range strings.SplitSeq(query, "&") {
		name, raw, named := strings.Cut(part, "=")
		if !named {
			name, raw = "", part
		}
		v, err := url.QueryUnescape(raw)
		if err != nil {
			v = raw
		}
		if len(v) >= least(name) { // the server may repeat the line that it got
			values = append(append(values, v, raw), longParts(v)...)
		}
	}
	return values
}

// longParts are the parts of a value that are long enough for a secret: the words, as the
// token after "Bearer", and the values of its parameters, as in "session=…; path=/".
func longParts(v string) (parts []string) {
	separates := func(r rune) bool { return unicode.IsSpace(r) || r == ';' || r == ',' }
	for _, word := range strings.FieldsFunc(v, separates) {
		if len(word) >= leastSecret {
			parts = append(parts, word)
		}
		name, parameter, _ := strings.Cut(word, "=")
		if value := strings.Trim(parameter, `"'`); len(value) >= least(name) {
			parts = append(parts, value)
		}
	}
	return parts
}

// newSecret returns the secret of a value. Servers may encode every character except letters
// and digits.
func newSecret(value string) secret {
	s := secret{part: longestPlain(value)}
	var forms strings.Builder
	for _, r := range value {
		forms.WriteString(formsOf(r))
	}
	form := forms.String()
	s.form = regexp.MustCompile(form)
	s.beside = besideOf(value)
	return s
}

// longestPlain returns the longest part of a value of letters and digits alone.
func longestPlain(value string) (longest string) {
	for _, part := range strings.FieldsFunc(value, func(r rune) bool { return !plain(r) }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// besideOf is what may not stand beside a secret that other words of an error may contain by
// chance, because it is short; nil for others.
func besideOf(value string) func(byte) bool {
	digit := func(b byte) bool { return b >= '0' && b <= '9' }
	letter := func(b byte) bool { return plain(rune(b)) }
	letters, digits, others := false, false, false
	for _, r := range value {
		isDigit := r >= '0' && r <= '9'
		letters, digits, others = letters || plain(r) && !isDigit, digits || isDigit, others || !plain(r)
	}
	switch {
	case len(value) >= leastSecret, len(value) >= leastNamed && others:
		return nil
	case !letters && digits:
		return digit
	case len(value) < leastNamed || !digits:
		return letter
	}
	return nil
}

// encodedEnd fits a character as servers encode it (%3D, %253D, \n, \x3d, \u003d), at the end of a text.
var encodedEnd = regexp.MustCompile(`(?:%(?:25)*[0-9a-fA-F]{2}|\\[a-z]|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4})$`)

// longestEncoded is the length of the longest of those.
const longestEncoded = 12

// alone reports whether the part of a text from one index to another stands outside of words.
func (s secret) alone(text string, from, to int) bool {
	before := text[max(0, from-longestEncoded):from]
	begins := before == "" || !s.beside(before[len(before)-1]) || encodedEnd.MatchString(before)
	return begins && (to == len(text) || !s.beside(text[to]))
}

// hide replaces the secret in a text.
func (s secret) hide(text string) string {
	if s.beside == nil {
		return s.form.ReplaceAllString(text, "…${1}")
	}
	var out strings.Builder
	done := 0
	for _, at := range s.form.FindAllStringIndex(text, -1) {
		if s.alone(text, at[0], at[1]) {
			out.WriteString(text[done:at[0]] + "…")
			done = at[1]
		}
	}
	return out.String() + text[done:]
}

// leastBegun is how many characters of a key are its beginning, at least, where a text or a word in
// quotes ends after them; leastTelling is how many are anywhere, because no other word has so many.
const (
	leastBegun   = 4
	leastTelling = 8
)

// mostBegun bounds how many characters of a key the pattern of its beginning has.
const mostBegun = 200

// begunEnd fits the end of a beginning: a part of an encoded character, and then the end of the text,
// a quote or dots, which are the group.
const begunEnd = `(?:%(?:25)*[0-9a-fA-F]?|&#?\w*|\\+u?[0-9a-fA-F]{0,3})?(\.\.|…|["'<\\]|$)`

// begunSecret is the beginning of a key that somebody has cut. What follows it is the pattern's group.
func begunSecret(key string) secret {
	runes := []rune(key)
	runes = runes[:min(mostBegun, len(runes))]
	return secret{
		part: longestPlain(string(runes[:min(leastBegun, len(runes))])),
		form: regexp.MustCompile(begunBy(runes, leastTelling) + "|" + begunBy(runes, leastBegun) + begunEnd),
	}
}

// begunBy is a pattern of so many of the first characters or more.
func begunBy(runes []rune, least int) string {
	var forms strings.Builder
	for i, r := range runes {
		if i >= least {
			forms.WriteString("(?:")
		}
		forms.WriteString(formsOf(r))
	}
	return forms.String() + strings.Repeat(")?", max(len(runes)-least, 0))
}

// keysOf returns the secrets of a target whose beginnings no error may have either, unlike those of
// other headers and parameters, which are words.
func keysOf(t Target, u *url.URL) (keys []string) {
	values := append(inUser(u.User), t.APIKey)
	for name, all := range t.Header {
		if SecretName.MatchString(name) {
			for _, v := range all {
				values = append(values, longParts(v)...)
			}
		}
	}
	for name, all := range u.Query() {
		if SecretName.MatchString(name) {
			for _, v := range all {
				values = append(values, longParts(v)...)
			}
		}
	}
	for _, v := range values {
		if len(v) >= leastSecret {
			keys = append(keys, v)
		}
	}
	return keys
}

// plain reports whether r is a letter or a digit of ASCII.
func plain(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// inJSON is a pattern of a character as JSON escapes it: in UTF-16.
func inJSON(r rune) string {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Sprintf(`\\+u(?i:%04x)\\+u(?i:%04x)`, high, low)
	}
	return fmt.Sprintf(`\\+u(?i:%04x)`, r)
}

// htmlNames are the names of characters that HTML escapes.
var htmlNames = map[rune]string{'&': "amp", '<': "lt", '>': "gt", '"': "quot", '\'': "apos"}

// formsOf is a pattern of a character as it is, in a URL, in JSON and in HTML.
func formsOf(r rune) string {
	if plain(r) {
		return string(r)
	}
	itself := regexp.QuoteMeta(string(r))
	var inURL strings.Builder
	for _, b := range []byte(string(r)) {
		fmt.Fprintf(&inURL, "%%(?:25)*(?i:%02x)", b) // encoded again, it begins with %25
	}
	forms := []string{itself, `\\+` + itself, inURL.String(), inJSON(r), fmt.Sprintf("&#0*%d;", r), fmt.Sprintf("&#[xX]0*(?i:%x);", r)}
	if name := htmlNames[r]; name != "" {
		forms = append(forms, "&"+name+";")
	}
	if r == ' ' {
		forms = append(forms, `\+`, `%(?:25)*2[bB]`)
	}
	return "(?:" + strings.Join(forms, "|") + ")"
}
