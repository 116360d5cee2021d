package loadgen

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// A gateway repeats the key that it does not accept, in its answer or inside a stream.
func TestNoErrorHasTheClientsSecrets(t *testing.T) {
	t.Parallel()
	const key, token, password = "sk-verysecret-0123456789", "gateway-token-4711", "hunter2-of-nginx"
	for _, inStream := range []bool{false, true} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			message := fmt.Sprintf("Incorrect key: %s, %s, %s, %s, %s", key, r.Header.Get("X-Gateway"), r.URL.Query().Get("sig"), r.RequestURI,
				base64.StdEncoding.EncodeToString([]byte("me:"+password)))
			if inStream {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: {\"error\":{\"message\":%q}}\n\n", message)
				return
			}
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, message)
		}))
		defer srv.Close()
		var mu sync.Mutex
		var got []Record
		g, err := New(Options{
			Target: Target{URL: strings.Replace(srv.URL, "://", "://me:"+password+"@", 1) + "/?sig=signature%2Bof-url", Profile: Chat, APIKey: key,
				Header: http.Header{"X-Gateway": {"Token " + token}}},
			Record: func(r Record) { mu.Lock(); defer mu.Unlock(); got = append(got, r) },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if err := g.Start(Spec{Shape: Burst, N: 1}); err != nil {
			t.Fatal(err)
		}
		if err := g.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		text := got[0].Error + g.Run().LastError
		mu.Unlock()
		for _, secret := range []string{key, token, password, "signature+of-url", "signature%2Bof-url", base64.StdEncoding.EncodeToString([]byte("me:" + password))} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in %q", secret, text)
			}
		}
		if !strings.Contains(text, "Incorrect key") {
			t.Errorf("%q", text)
		}
	}
}

// A server repeats the address as it was sent, or the client's values as the format of its
// answer wants them.
func TestNoErrorHasTheSecretsInAnotherForm(t *testing.T) {
	t.Parallel()
	const value = "p4ss \"é' w0rd/+of=azure&<me>"
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	query := url.QueryEscape(value)
	forms := []string{value, query, url.PathEscape(value), strings.ToLower(query), url.QueryEscape(query), html.EscapeString(value),
		strings.NewReplacer("+", "&#43;", "/", "&#x2F;", "=", "&#x3D;", "&", "&amp;", "'", "&#x27;", `"`, "&quot;").Replace(value),
		strings.Trim(string(encoded), `"`), strings.ReplaceAll(value, "/", `\/`), "%704ss%2Fw0rd%2B%FF;of"}
	for name, target := range map[string]Target{
		"query":    {URL: "http://10.0.0.1/?a=b&sig=" + query},
		"header":   {URL: "http://10.0.0.1/", Header: http.Header{"X-Key": {value}}},
		"password": {URL: (&url.URL{Scheme: "http", User: url.UserPassword("me", value), Host: "10.0.0.1"}).String()},
		"user":     {URL: (&url.URL{Scheme: "http", User: url.User(value), Host: "10.0.0.1"}).String()},
		"raw":      {URL: "http://10.0.0.1/?sig=%704ss%2Fw0rd%2B%FF;of"},
		"no name":  {URL: "http://10.0.0.1/?%704ss%2Fw0rd%2B%FF;of"},
	} {
		w, err := newWire(target)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, form := range forms {
			if raw := i == len(forms)-1; raw != (name == "raw" || name == "no name") {
				continue
			}
			if got := w.secrets.hide("Cannot GET /?sig=" + form + " at b"); got != "Cannot GET /?sig=… at b" {
				t.Errorf("%s: %q of %q", name, got, form)
			}
		}
	}
}

// A server repeats the token of a query alone, as it does with that of a header.
func TestNoErrorHasTheTokenOfAQueryAlone(t *testing.T) {
	w, err := newWire(Target{URL: "http://10.0.0.1/?authorization=Bearer%20abcdef0123456789"})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.secrets.hide("invalid token abcdef0123456789"); got != "invalid token …" {
		t.Errorf("got %q", got)
	}
}

// A server repeats a part of what identifies the client. A user with a password is a name, and
// so are a short user and a short word.
func TestEachPartThatMayBeASecretIsHidden(t *testing.T) {
	t.Parallel()
	const token = "abcdef0123456789"
	basic := func(pair string) string { return base64.StdEncoding.EncodeToString([]byte(pair)) }
	header := func(name, value string) Target {
		return Target{URL: "http://10.0.0.1/", Header: http.Header{name: {value}}}
	}
	for name, tc := range map[string]struct {
		target   Target
		repeated string
		shown    bool
	}{
		"a user without a password":       {Target{URL: "http://" + token + "@10.0.0.1/"}, token, false},
		"a user with an empty password":   {Target{URL: "http://" + token + ":@10.0.0.1/"}, token, false},
		"the header for such a user":      {Target{URL: "http://" + token + "@10.0.0.1/"}, basic(token + ":"), false},
		"a short user":                    {Target{URL: "http://me@10.0.0.1/"}, "me", true},
		"a user with a password":          {Target{URL: "http://operator1:pw-4711@10.0.0.1/"}, "operator1", true},
		"a short password":                {Target{URL: "http://operator1:pw@10.0.0.1/"}, "pw", false},
		"the header of user and password": {Target{URL: "http://operator1:pw@10.0.0.1/"}, basic("operator1:pw"), false},
		"a cookie":                        {header("Cookie", "session="+token), token, false},
		"a cookie beside another one":     {header("Cookie", "session="+token+"; lang=english"), token, false},
		"a parameter in quotes":           {header("Authorization", `Token token="`+token+`"`), token, false},
		"a password in a Basic header":    {header("Authorization", "Basic "+basic("me:pw-4711")), "pw-4711", false},
		"a token in a Basic header":       {header("Authorization", "Basic "+basic(token+":")), token, false},
		"a word before a short one":       {header("X-Auth", token+" v2"), token, false},
		"a short password in the query":   {Target{URL: "http://10.0.0.1/?n=1&password=hunter2"}, "hunter2", false},
		"a short signature in the query":  {Target{URL: "http://10.0.0.1/?sig=abc12"}, "abc12", false},
		"a short key in a header":         {header("X-Api-Key", "abc12"), "abc12", false},
		"a short session in a cookie":     {header("Cookie", "session=abc12; lang=english"), "abc12", false},
		"a short value within a word":     {Target{URL: "http://10.0.0.1/?token_type=test"}, "latest", true},
		"a short number within another":   {Target{URL: "http://me:1234@10.0.0.1/"}, "10.0.0.1:31234", true},
		"a number of tokens":              {Target{URL: "http://10.0.0.1/?max_tokens=1000"}, "1000", true},
		"a short word in the query":       {Target{URL: "http://10.0.0.1/?lang=english"}, "english", true},
		"such a word in the query":        {Target{URL: "http://10.0.0.1/?t=" + token + "%20v2"}, token, false},
	} {
		w, err := newWire(tc.target)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := w.secrets.hide("refused: " + tc.repeated); (got != "refused: …") != tc.shown {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// JSON in ASCII writes a character beyond the basic plane as two escapes (Python's json.dumps).
func TestNoErrorHasASecretBeyondTheBasicPlane(t *testing.T) {
	w, err := newWire(Target{URL: "http://10.0.0.1/", APIKey: "pass\U0001F600word-0123"})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.secrets.hide(`{"detail":"bad key pass\ud83d\ude00word-0123"}`); got != `{"detail":"bad key …"}` {
		t.Errorf("got %s", got)
	}
}

// A server repeats a short secret in an encoded address, in JSON or beside an underscore.
func TestAShortSecretIsHiddenBesideLetters(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"ab12cd", "hunter", "pw", "4711", "12345"} {
		w, err := newWire(Target{URL: "http://me:" + value + "@10.0.0.1/"})
		if err != nil {
			t.Fatal(err)
		}
		for _, repeated := range []string{
			"/login?next=" + url.QueryEscape("/x?key="+value), `{"err":"bad line\n` + value + `"}`, `{"err":"bad line\\n` + value + `"}`, `\u003d` + value + `\u0026x`,
			"&#61;" + value, "u_" + value, value + "_u", "'" + value + "'", "pw_" + value + "_" + value + "_x", value + " " + value, "%2F" + value + "%2F", "%2520" + value, `\x3d` + value,
		} {
			if got := w.secrets.hide("refused: " + repeated); strings.Contains(got, value) {
				t.Errorf("%s: %q", value, got)
			}
		}
	}
}

// A text may end within a secret, because the server, or lightsout, has cut it.
func TestNoErrorHasTheBeginningOfAKey(t *testing.T) {
	const key = "sk-abcdef0123456789"
	w, err := newWire(Target{URL: "http://10.0.0.1/", APIKey: key})
	if err != nil {
		t.Fatal(err)
	}
	for n := leastBegun; n <= len(key); n++ {
		if got := w.secrets.hide("bad key " + key[:n]); got != "bad key …" {
			t.Errorf("%q", got)
		}
	}
	for _, encoded := range []string{base64.StdEncoding.EncodeToString([]byte(key)), base64.URLEncoding.EncodeToString([]byte(key))} {
		if got := w.secrets.hide("bad key " + encoded + "!"); strings.Contains(got, encoded[:8]) {
			t.Errorf("%q", got)
		}
	}
	odd, err := newWire(Target{URL: "http://10.0.0.1/?api-version=2024-02-01", APIKey: "sk-ab/cdef+0123456789", Header: http.Header{"X-Model": {"error-detector"}}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"bad key sk-ab/cdef+01234...":                   "bad key …...",
		`{"error":{"message":"bad key sk-ab/cdef+01"}}`: `{"error":{"message":"bad key …"}}`,
		`bad key sk-ab\/cdef+01234`:                     "bad key …",
		"bad key sk-ab%2Fcdef%2B01234":                  "bad key …",
		"bad key sk-ab%2Fcdef%2":                        "bad key …%2",
		"bad key sk-ab%2":                               "bad key …",
		"sk-ab/cdef+0123 (cut), sk-ab/cdef.":            "… (cut), ….",
		"the service ended in an error":                 "the service ended in an error",
		"the release of 2024":                           "the release of 2024",
	} {
		if got := odd.secrets.hide(text); got != want || strings.Contains(got, "sk-a") {
			t.Errorf("%q: %q", text, got)
		}
	}
	for n := range 120 {
		c := newChatStream(time.Now, w.secrets.hide)
		c.feed([]byte("event: x\ndata: " + strings.Repeat("x", n) + key + " is unknown\n\n"))
		c.flush()
		if got := c.verdict().Error(); strings.Contains(got, "sk-a") {
			t.Errorf("after %d bytes: %q", n, got)
		}
	}
}
