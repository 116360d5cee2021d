package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// answer is one chat completion that is being generated.
type answer struct {
	id      string
	created int64
	model   string
	prompt  int // tokens of the question
	tokens  int // tokens of the answer
	finish  string
	every   time.Duration
}

// words is what the model says, over and over.
var words = strings.Fields(`When a node goes dark its pods say nothing more , and the ones that are left
	carry on with the work . A request that waits is not a request that failed ; it is served when there is room .`)

func token(i int) string {
	w := words[i%len(words)]
	if i == 0 || strings.ContainsAny(w, ",.;") {
		return w
	}
	return " " + w
}

func (a answer) usage() map[string]int {
	return map[string]int{
		"prompt_tokens":     a.prompt,
		"completion_tokens": a.tokens,
		"total_tokens":      a.prompt + a.tokens,
	}
}

func (a answer) object(kind string, choices any) map[string]any {
	return map[string]any{"id": a.id, "object": kind, "created": a.created, "model": a.model, "choices": choices}
}

// whole answers in one piece, after the time that the generation takes.
func (a answer) whole(ctx context.Context, w http.ResponseWriter) {
	var text strings.Builder
	for i := range a.tokens {
		if !Pause(ctx, a.every) {
			return
		}
		text.WriteString(token(i))
	}
	body := a.object("chat.completion", []any{map[string]any{
		"index":         0,
		"message":       map[string]string{"role": "assistant", "content": text.String()},
		"finish_reason": a.finish,
	}})
	body["usage"] = a.usage()
	reply(w, http.StatusOK, body)
}

// stream answers as server-sent events: a chunk with the role as soon as the
// slot is taken, one for each token, one with the reason for the end, the
// usage if it was asked for, and [DONE].
func (a answer) stream(ctx context.Context, w http.ResponseWriter, usage bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	out := http.NewResponseController(w)
	send := func(v any) bool {
		data, err := json.Marshal(v)
		if err != nil {
			return false
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	delta := func(d map[string]string, finish any) map[string]any {
		return a.object("chat.completion.chunk", []any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}})
	}
	if !send(delta(map[string]string{"role": "assistant"}, nil)) {
		return
	}
	for i := range a.tokens {
		if !Pause(ctx, a.every) || !send(delta(map[string]string{"content": token(i)}, nil)) {
			return
		}
	}
	if !send(delta(map[string]string{}, a.finish)) {
		return
	}
	if usage {
		chunk := a.object("chat.completion.chunk", []any{})
		chunk["usage"] = a.usage()
		if !send(chunk) {
			return
		}
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
	out.Flush()
}
