package loadgen

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// A gateway repeats what it does not accept, in its answer or inside a stream, and at length: no
// error has a secret, nor more than maxErrorText characters.
func TestNoErrorHasTheClientsSecrets(t *testing.T) {
	t.Parallel()
	const secret = "sk-very/secret+0123456789="
	for name, tc := range map[string]struct {
		user   *url.Userinfo
		query  string
		header http.Header
		key    string
	}{
		"key":                  {key: secret},
		"password":             {user: url.UserPassword("me", secret)},
		"user and no password": {user: url.User(secret)},
		"query":                {query: "a=b&sig=" + url.QueryEscape(secret)},
		"query without a name": {query: url.QueryEscape(secret)},
		"query as it came":     {query: "sig=" + secret},
		"header":               {header: http.Header{"X-Key": {secret}}},
		"header with a scheme": {header: http.Header{"X-Gateway": {"Token " + secret}}},
		"cookie":               {header: http.Header{"Cookie": {"lang=en; session=" + secret}}},
	} {
		password, _ := tc.user.Password()
		basic := base64.StdEncoding.EncodeToString([]byte(tc.user.Username() + ":" + password))
		for _, form := range []string{"body", "json", "stream", "stray"} {
			t.Run(name+" "+form, func(t *testing.T) {
				t.Parallel()
				s := serveH2(t, false, func(w http.ResponseWriter, r *http.Request) {
					message := fmt.Sprintf("Incorrect: %s, %s, %s, %s %s", secret, url.QueryEscape(secret), basic, r.Header, r.RequestURI) + strings.Repeat(" x", 500)
					switch form {
					case "body":
						w.WriteHeader(http.StatusUnauthorized)
						io.WriteString(w, message)
					case "json":
						io.WriteString(w, message)
					case "stream":
						w.Header().Set("Content-Type", stream)
						fmt.Fprintf(w, "data: {\"error\":{\"message\":%q}}\n\n", message)
					default:
						w.Header().Set("Content-Type", stream)
						io.WriteString(w, message+"\n\n")
					}
				})
				u, err := url.Parse(s.URL)
				if err != nil {
					t.Fatal(err)
				}
				u.User, u.RawQuery = tc.user, tc.query
				r := one(t, Options{Target: Target{URL: u.String(), Profile: Chat, APIKey: tc.key, Header: tc.header}, Timeouts: unhurried})
				for _, hidden := range []string{secret, url.QueryEscape(secret), secret[:leastSecret]} {
					if strings.Contains(r.Error, hidden) {
						t.Errorf("%q is in %q", hidden, r.Error)
					}
				}
				if tc.user != nil && strings.Contains(r.Error, basic) {
					t.Errorf("the header is in %q", r.Error)
				}
				if !strings.Contains(r.Error, "Incorrect") || utf8.RuneCountInString(r.Error) > maxErrorText+1 {
					t.Errorf("%q", r.Error)
				}
			})
		}
	}
}
