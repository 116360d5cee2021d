package workload

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// LlamaTiming is how fast the model is.
type LlamaTiming struct {
	// Load is how long the model takes to load; until then every request is
	// answered 503 "Loading model".
	Load time.Duration
	// Token is the time from one token of an answer to the next.
	Token time.Duration
}

// Llama returns a program that answers like llama.cpp's llama-server, with
// text that means nothing. It takes the flags --port (default 8080),
// --parallel (number of slots, default 1) and --alias (the model's name), and
// the environment variable LLAMA_API_KEY.
//
// It has /health (public), /slots, /v1/models and /v1/chat/completions, whole
// or streamed as server-sent events. A request beyond the slots waits for one,
// without a byte of answer. Paths, fields and errors follow llama.cpp's
// tools/server/README.md.
func Llama(t LlamaTiming) Program {
	return func(ctx context.Context, in Instance) (Process, error) {
		slots, err := strconv.Atoi(in.Arg("--parallel", "1"))
		if err != nil || slots < 1 {
			slots = 1
		}
		l := &llama{
			Instance: in,

			timing: t,
			model:  in.Arg("--alias", "model"),
			key:    in.Env["LLAMA_API_KEY"],
			pod:    in.Pod.Name,
			ready:  time.Now().Add(t.Load),
			slots:  make(chan int, slots),
			busy:   make([]atomic.Bool, slots),
		}
		for i := range slots {
			l.slots <- i
		}
		at := net.JoinHostPort(in.IP, in.Arg("--port", "8080"))
		in.printf("main: loading model")
		s, err := Serve(ctx, in.Host, at, logged(l.routes(), l.access))
		if err != nil {
			return nil, err
		}
		go func() {
			if Pause(ctx, t.Load) {
				in.printf("main: model loaded")
				in.printf("main: server is listening on http://%s - starting the main loop", at)
			}
		}()
		return s, nil
	}
}

// maxTokens bounds an answer, as the context length does.
const maxTokens = 4096

// defaultTokens is the length of an answer whose request sets no limit.
const defaultTokens = 64

// maxBody bounds a request.
const maxBody = 4 << 20

type llama struct {
	Instance

	timing LlamaTiming
	model  string
	key    string
	pod    string
	ready  time.Time
	slots  chan int // free ones
	busy   []atomic.Bool
	count  atomic.Int64
}

func (l *llama) routes() http.Handler {
	open := http.NewServeMux()
	open.HandleFunc("GET /health", l.health)
	open.HandleFunc("GET /v1/health", l.health)
	open.HandleFunc("GET /v1/models", l.models)
	closed := http.NewServeMux()
	closed.HandleFunc("GET /slots", l.showSlots)
	closed.HandleFunc("POST /v1/chat/completions", l.chat)
	closed.HandleFunc("POST /chat/completions", l.chat)
	closed.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusNotFound, "not_found_error", "File Not Found")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "llama.cpp")
		w.Header().Set("X-Pod-Name", l.pod)
		_, public := open.Handler(r)
		switch {
		case public == "" && !l.allowed(r):
			fail(w, http.StatusUnauthorized, "authentication_error", "Invalid API Key")
		case time.Now().Before(l.ready):
			fail(w, http.StatusServiceUnavailable, "unavailable_error", "Loading model")
		case public != "":
			open.ServeHTTP(w, r)
		default:
			closed.ServeHTTP(w, r)
		}
	})
}

// access writes llama-server's line about a request; those for /health have none.
func (l *llama) access(a answered) {
	switch {
	case strings.HasSuffix(a.URL.Path, "/health"):
	case a.status == 0:
		l.printf("srv          stop: cancel task, the client at %s went away", a.client())
	default:
		l.printf("srv  log_server_r: done request: %s %s %s %d", a.Method, a.RequestURI, a.client(), a.status)
	}
}

func (l *llama) allowed(r *http.Request) bool {
	if l.key == "" {
		return true
	}
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return subtle.ConstantTimeCompare([]byte(given), []byte(l.key)) == 1
}

func fail(w http.ResponseWriter, code int, kind, message string) {
	reply(w, code, map[string]any{"error": map[string]any{"code": code, "message": message, "type": kind}})
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(v)
}

func (l *llama) health(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (l *llama) models(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{
		"object": "list",
		"data":   []map[string]any{{"id": l.model, "object": "model", "owned_by": "llamacpp"}},
	})
}

func (l *llama) showSlots(w http.ResponseWriter, r *http.Request) {
	type slot struct {
		ID         int  `json:"id"`
		Processing bool `json:"is_processing"`
	}
	out := make([]slot, len(l.busy))
	free := false
	for i := range out {
		out[i] = slot{ID: i, Processing: l.busy[i].Load()}
		free = free || !out[i].Processing
	}
	if !free && r.URL.Query().Get("fail_on_no_slot") == "1" {
		fail(w, http.StatusServiceUnavailable, "unavailable_error", "no slot available")
		return
	}
	reply(w, http.StatusOK, out)
}

type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role string `json:"role"`
		// Content is a string, or a list of parts.
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Stream              bool `json:"stream"`
	MaxTokens           *int `json:"max_tokens"`
	MaxCompletionTokens *int `json:"max_completion_tokens"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// length is how many tokens the answer has, and why it ends there.
func (r chatRequest) length() (tokens int, finish string) {
	limit := cmp.Or(r.MaxTokens, r.MaxCompletionTokens)
	if limit == nil || *limit < 1 {
		return defaultTokens, "stop"
	}
	return min(*limit, maxTokens), "length"
}

func (l *llama) chat(w http.ResponseWriter, r *http.Request) {
	var req chatRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&req); err != nil {
		fail(w, http.StatusBadRequest, "invalid_request_error", "the request is not valid JSON: "+err.Error())
		return
	}
	if len(req.Messages) == 0 {
		fail(w, http.StatusBadRequest, "invalid_request_error", "'messages' is required")
		return
	}
	var slot int
	select {
	case slot = <-l.slots:
	case <-r.Context().Done():
		return
	}
	l.busy[slot].Store(true)
	task := l.count.Add(1)
	l.printf("slot launch_slot_: id %2d | task %d | processing task", slot, task)
	defer func() {
		l.printf("slot      release: id %2d | task %d | stop processing", slot, task)
		l.busy[slot].Store(false)
		l.slots <- slot
	}()

	a := answer{
		id:      "chatcmpl-" + l.pod + "-" + strconv.FormatInt(task, 10),
		created: time.Now().Unix(),
		model:   cmp.Or(req.Model, l.model),
		every:   l.timing.Token,
	}
	a.tokens, a.finish = req.length()
	for _, m := range req.Messages {
		a.prompt += len(strings.Fields(string(m.Content)))
	}
	if req.Stream {
		a.stream(r.Context(), w, req.StreamOptions.IncludeUsage)
		return
	}
	a.whole(r.Context(), w)
}
