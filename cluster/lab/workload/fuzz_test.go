package workload

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// Whatever is sent as a chat request is answered, and answered as JSON or as a
// whole stream.
func FuzzChatRequest(f *testing.F) {
	for _, seed := range []string{
		hello + "}",
		hello + `,"stream":true,"stream_options":{"include_usage":true}}`,
		hello + `,"max_tokens":-1}`,
		hello + `,"max_tokens":1e99}`,
		`{"messages":[{"content":[{"type":"text","text":"x"}]}],"max_completion_tokens":1}`,
		`{"messages":null}`, `[]`, ``, `{"messages":[1]}`, "{\"messages\":[{\"content\":\"\x00\xff\"}]}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		one := &llama{slots: make(chan int, 1), busy: make([]atomic.Bool, 1)}
		one.slots <- 0
		w := httptest.NewRecorder()
		one.routes().ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
		switch kind := w.Header().Get("Content-Type"); {
		case w.Code == http.StatusOK && kind == "text/event-stream":
			if !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n") {
				t.Errorf("a stream without an end: %q", w.Body)
			}
		case w.Code == http.StatusOK || w.Code == http.StatusBadRequest:
			if !strings.HasPrefix(kind, "application/json") {
				t.Errorf("status %d as %s", w.Code, kind)
			}
		default:
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if len(one.slots) != 1 {
			t.Error("the slot is lost")
		}
	})
}
