package loadgen

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// A server that refuses stream_options gets the request again without it, and each further one
// without it at once. It is one request with one class.
func TestStreamOptionsAreLeftOutWhereTheyAreRefused(t *testing.T) {
	t.Parallel()
	const vllm = `{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted', 'input': {'include_usage': True}}]","type":"BadRequestError","code":400}`
	for _, c := range []struct {
		name    string
		plain   bool // no chat
		status  int
		refusal string
		always  bool // the refusal has another reason
		want    Class
		with    int // how many of the 3 requests come with it, at most
		all     int // how many come in all
	}{
		{name: "old vLLM", status: 400, refusal: vllm, want: ClassOK, with: 1, all: 4},
		{name: "Fireworks", status: 400, refusal: `{"error":{"message":"Extra inputs are not permitted, field: 'stream_options'"}}`, want: ClassOK, with: 1, all: 4},
		{name: "FastAPI, with much before it", status: 422, refusal: `{"detail":"` + strings.Repeat("x", 1500) + `","loc":["body","stream_options"]}`, want: ClassOK, with: 1, all: 4},
		{name: "refused without it too", status: 400, refusal: vllm, always: true, want: Class4xx, with: 1, all: 4},
		{name: "another reason", status: 400, refusal: `{"error":{"message":"max_tokens is too large"}}`, always: true, want: Class4xx, with: 3, all: 3},
		{name: "no chat", plain: true, status: 400, refusal: vllm, always: true, want: Class4xx, all: 3},
		{name: "another status", status: 503, refusal: vllm, always: true, want: Class503, with: 3, all: 3},
	} {
		for _, protocol := range []Protocol{HTTP1, HTTP2} {
			t.Run(c.name+" "+string(protocol), func(t *testing.T) {
				t.Parallel()
				var with, all atomic.Int64
				s := serveH2(t, false, func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					all.Add(1)
					has := strings.Contains(string(body), `"stream_options":{"include_usage":true}`)
					if has {
						with.Add(1)
					}
					if has || c.always {
						http.Error(w, c.refusal, c.status)
						return
					}
					w.Header().Set("Content-Type", stream)
					io.WriteString(w, token("a")+token("b")+done)
				})
				var recs records
				target := Target{URL: s.URL, Protocol: protocol, Profile: Chat}
				if c.plain {
					target.Profile = ""
				}
				g := start(t, Options{Target: target, Timeouts: unhurried, Record: recs.add})
				for range 3 {
					mustStart(t, g, Spec{Shape: Burst, N: 1})
					wait(t, g)
				}
				for _, r := range recs.all() {
					if r.Class != c.want || (c.want == ClassOK) != (r.Tokens == 2) {
						t.Errorf("%s, %d tokens: %s", r.Class, r.Tokens, r.Error)
					}
					inOrder(t, r)
				}
				if n := len(recs.all()); n != 3 || int(with.Load()) != c.with || int(all.Load()) != c.all {
					t.Errorf("%d records; %d requests came, %d with the options; want %d and %d", n, all.Load(), with.Load(), c.all, c.with)
				}
			})
		}
	}
}
