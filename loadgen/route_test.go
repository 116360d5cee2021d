package loadgen

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Another host gets none of the headers that were set for this one: each may
// hold a secret, whatever its name.
func TestARedirectTakesNoHeaderToAnotherHost(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header }))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	ours := []string{"Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token", "Ocp-Apim-Subscription-Key", "X-Anything", "User-Agent", "Accept"}
	header := http.Header{}
	for _, name := range ours[1:] {
		header.Set(name, "ours")
	}
	g := start(t, Options{Target: Target{URL: first.URL, Header: header, APIKey: "ours", Redirects: 1}})
	mustStart(t, g, Spec{Shape: Burst, N: 1})
	wait(t, g)
	seen := <-got
	for _, name := range ours {
		if v := seen.Get(name); v == "ours" || v == "Bearer ours" {
			t.Errorf("%s went along", name)
		}
	}
	if seen.Get(idHeader) == "" {
		t.Error("the request lost its ID")
	}
}
