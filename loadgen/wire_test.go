package loadgen

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestWhatTheServerGets(t *testing.T) {
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) { page(c, 404, "") })
	rec := one(t, Options{Target: Target{
		URL: strings.Replace(s.url(), "http://", "http://me:pa%20ss@", 1) + "?a=b", Host: "llm.default.example.com",
		Header: http.Header{"X-Lane": {"new"}}, Body: []byte("hello"),
	}})
	r := s.reqs[0]
	user, password, _ := r.BasicAuth()
	if r.Method != "POST" || r.RequestURI != "/page?a=b" || r.Host != "llm.default.example.com" || s.body[0] != "hello" ||
		r.Header.Get("X-Lane") != "new" || user != "me" || password != "pa ss" || !r.Close || r.Header.Get(idHeader) != rec.ID {
		t.Errorf("%+v %q", r, s.body[0])
	}
}

func TestChatRequest(t *testing.T) {
	const key = "sk-very-secret"
	s := serveRaw(t, func(c *net.TCPConn, r *http.Request) { page(c, 401, "Invalid API Key") })
	var recs records
	g := start(t, Options{Target: Target{
		URL: s.url() + "?token=" + key, Profile: Chat, Model: "llm-jp", Prompts: []string{"What \"is\" it?"}, MaxTokens: 64, APIKey: key,
	}, Record: recs.add})
	mustStart(t, g, Spec{Shape: Burst, N: 1})
	wait(t, g)
	var body struct {
		Model    string
		Messages []struct{ Role, Content string }
		Max      int `json:"max_tokens"`
		Stream   bool
	}
	if err := json.Unmarshal([]byte(s.body[0]), &body); err != nil {
		t.Fatal(err)
	}
	r := s.reqs[0]
	if r.Method != "POST" || r.Header.Get("Authorization") != "Bearer "+key || r.Header.Get("Content-Type") != "application/json" ||
		!body.Stream || body.Max != 64 || body.Model != "llm-jp" || len(body.Messages) != 1 ||
		body.Messages[0].Role != "user" || body.Messages[0].Content != "What \"is\" it?" {
		t.Errorf("%+v %s", r.Header, s.body[0])
	}
	shown, err := json.Marshal(map[string]any{"run": g.Run(), "records": recs.all()})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(shown), key) {
		t.Errorf("the key is shown: %s", shown)
	}
}

func TestTargetsThatMakeNoSense(t *testing.T) {
	for name, target := range map[string]Target{
		"no URL":             {},
		"no scheme":          {URL: "10.0.0.1:80/x"},
		"no host":            {URL: "http:///x"},
		"ftp":                {URL: "ftp://h/x"},
		"bad escape":         {URL: "http://me:secret@h/%zz"},
		"bad method":         {URL: "http://h/", Method: "GET /x"},
		"own header":         {URL: "http://h/", Header: http.Header{"content-length": {"5"}}},
		"bad header":         {URL: "http://h/", Header: http.Header{"a b": {"5"}}},
		"split header":       {URL: "http://h/", Header: http.Header{"A": {"5\r\nB: 6"}}},
		"split host":         {URL: "http://h/", Host: "a\r\nB: 6"},
		"port of 5 digits":   {URL: "http://h:99999/"},
		"port 0":             {URL: "http://h:0/"},
		"entry's port":       {URL: "http://h/", Entries: []string{"10.0.0.1:99999"}},
		"bare IPv6 and port": {URL: "http://h/", Entries: []string{"::1:18300"}},
		"key with line":      {URL: "http://h/", Profile: Chat, APIKey: "secret\n"},
		"chat and body":      {URL: "http://h/", Profile: Chat, Body: []byte("x")},
		"profile":            {URL: "http://h/", Profile: "grpc"},
	} {
		g, err := New(Options{Target: target})
		if err == nil {
			g.Close()
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells a secret: %v", name, err)
		}
	}
}

func TestACertificateThatIsNotTrustedNamesTheRemedy(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	trusted := s.Client().Transport.(*http.Transport).TLSClientConfig
	for _, tc := range []struct {
		url  string
		tls  *tls.Config
		want string
	}{
		{s.URL, nil, "ca_file (--ca)"},
		{strings.Replace(s.URL, "127.0.0.1", "localhost", 1), trusted, "for example.com, *.example.com, 127.0.0.1, ::1: give the URL one of these names, and the address as an entry (--entry)"},
		{strings.Replace(plain.URL, "http:", "https:", 1), nil, "does not answer with TLS (is it http://?): "},
	} {
		rec := one(t, Options{Target: Target{URL: tc.url}, TLS: tc.tls, Timeouts: Timeouts{Connect: -1}})
		if rec.Class != ClassLocal || !strings.Contains(rec.Error, tc.want) {
			t.Errorf("%s: %s: %s", tc.url, rec.Class, rec.Error)
		}
	}
}

func TestWhatIsDialed(t *testing.T) {
	for _, tc := range []struct {
		url     string
		entries []string
		want    string
	}{
		{"http://my_svc.example/", nil, "my_svc.example:80"},
		{"http://[::1]:8080/", nil, "[::1]:8080"},
		{"http://[fe80::1%25eth0]/", nil, "[fe80::1%eth0]:80"},
		{"http://web/", []string{"other", "::1", "[::1]:81", "10.0.0.1"}, "other:80 [::1]:80 [::1]:81 10.0.0.1:80"},
	} {
		got, err := Addresses(tc.url, tc.entries)
		if err != nil || strings.Join(got, " ") != tc.want {
			t.Errorf("%s %v: got %v, %v, want %s", tc.url, tc.entries, got, err, tc.want)
		}
	}
}
