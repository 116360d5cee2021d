package loadgen

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A gateway repeats the key that it does not accept, in its answer or inside a stream.
func TestNoErrorHasTheClientsSecrets(t *testing.T) {
	t.Parallel()
	const key, token, password = "sk-verysecret-0123456789", "gateway-token-4711", "hunter2-of-nginx"
	for _, inStream := range []bool{false, true} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			message := fmt.Sprintf("Incorrect key: %s, %s, %s, %s", key, r.Header.Get("X-Gateway"), r.URL.Query().Get("sig"),
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
			Target: Target{URL: strings.Replace(srv.URL, "://", "://me:"+password+"@", 1) + "/?sig=signature-of-url", Profile: Chat, APIKey: key,
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
		for _, secret := range []string{key, token, password, "signature-of-url", base64.StdEncoding.EncodeToString([]byte("me:" + password))} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in %q", secret, text)
			}
		}
		if !strings.Contains(text, "Incorrect key") {
			t.Errorf("%q", text)
		}
	}
}
