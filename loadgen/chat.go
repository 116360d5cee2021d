package loadgen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// chatBodies returns the bodies of the streamed chat completion requests that are sent in turn,
// one for each prompt. bare leaves out stream_options, which ask for the number of tokens.
func chatBodies(t *Target, bare bool) (bodies [][]byte) {
	prompts := t.Prompts
	if len(prompts) == 0 {
		prompts = builtinPrompts
	}
	body := map[string]any{"stream": true}
	if !bare {
		body["stream_options"] = map[string]bool{"include_usage": true}
	}
	if t.Model != "" {
		body["model"] = t.Model
	}
	if t.MaxTokens > 0 {
		body["max_tokens"] = t.MaxTokens
	}
	for _, p := range prompts {
		body["messages"] = []map[string]string{{"role": "user", "content": p}}
		b, _ := json.Marshal(body) // it never fails: it is text
		bodies = append(bodies, b)
	}
	return bodies
}

// chatState is how far a streamed chat has come.
type chatState uint8

const (
	chatWaiting   chatState = iota // nothing with a choice has come
	chatAnswering                  // a part of an answer has come, though perhaps an empty one
	chatFinished                   // the model has ended its answer: a finish_reason
	chatDone                       // the end mark has come after an answer
	chatFailed                     // an error came, or the end mark without an answer
)

// chatStream follows one streamed chat completion.
type chatStream struct {
	sseParser
	progress func() time.Time    // is called for each event and other line, returns the time
	hide     func(string) string // hides the client's secrets

	state      chatState
	firstToken time.Time
	lastToken  time.Time
	events     int    // events with text in them
	usage      int    // tokens as the server counts them; 0: unreported
	reason     string // why it failed
	stray      string // the last line that is not a field of an event stream
}

func newChatStream(progress func() time.Time, hide func(string) string) *chatStream {
	c := &chatStream{progress: progress, hide: hide}
	c.onData, c.onOther = c.event, c.other
	return c
}

// tokens returns the number of tokens so far.
func (c *chatStream) tokens() int { return max(c.usage, c.events) }

// over reports whether nothing that follows changes the outcome.
func (c *chatStream) over() bool { return c.state >= chatDone }

// fail ends the stream by an error in it.
func (c *chatStream) fail(text string) {
	c.state, c.reason = chatFailed, "an error came inside the stream: "+cmp.Or(clean(c.hide(text), maxErrorText), "no message")
}

type chatChunk struct {
	Choices []struct {
		Delta  map[string]any  `json:"delta"`
		Text   string          `json:"text"`
		Finish any             `json:"finish_reason"`
		Error  json.RawMessage `json:"error"`
	} `json:"choices"`
	Usage *struct {
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
	Error  json.RawMessage `json:"error"`
	Object any             `json:"object"`
}

// labels are the fields of a delta, of a part of it or of a call of a tool that are no text of the
// model's. All others are: servers have several names for its reasoning, and rename them.
var labels = []string{"role", "type", "id", "index", "tool_call_id", "format", "signature"}

// hasText reports whether a delta, or a value in it, contains text: the answer, as a text or as a
// list of parts (Mistral), reasoning, calls of tools.
func hasText(v any) bool {
	switch v := v.(type) {
	case string:
		return v != ""
	case []any:
		return slices.ContainsFunc(v, hasText)
	case map[string]any:
		for field, in := range v {
			if !slices.Contains(labels, field) && hasText(in) {
				return true
			}
		}
	}
	return false
}

// failure returns the error in a chunk that contains one as a whole; empty if it contains none.
// Servers use several forms: the field "error", of the chunk or of a choice (OpenRouter); an object
// of the kind "error" (vLLM's ErrorResponse); a choice whose finish_reason is "error" or "abort",
// which vLLM sends before [DONE] when its engine shuts down (github.com/vllm-project/vllm/issues/57082).
func (c *chatChunk) failure(data []byte) string {
	given := func(e json.RawMessage) bool { return len(e) > 0 && string(e) != "null" }
	switch {
	case given(c.Error):
		return errorText(c.Error)
	case c.Object == "error":
		return errorText(data)
	}
	for _, ch := range c.Choices {
		switch {
		case given(ch.Error):
			return errorText(ch.Error)
		case ch.Finish == "error", ch.Finish == "abort":
			return fmt.Sprintf("finish_reason: %s", ch.Finish)
		}
	}
	return ""
}

func (c *chatStream) event(kind string, data []byte) {
	now := c.progress()
	data = bytes.TrimSpace(data)
	if c.over() || len(data) == 0 && kind != "error" {
		return
	}
	if string(data) == "[DONE]" {
		if c.state == chatWaiting {
			c.state, c.reason = chatFailed, "the stream ended with [DONE], and had no answer"
		} else {
			c.state = chatDone
		}
		return
	}
	var chunk chatChunk
	err := json.Unmarshal(data, &chunk)
	within := ""
	if err == nil {
		within = chunk.failure(data)
	}
	switch {
	case within != "":
		c.fail(within)
	case kind == "error":
		c.fail(errorText(data)) // the event itself is the error
	case err != nil:
		// A chunk in an unknown form; without the end mark it fails anyway.
		c.stray = c.hide(string(data))
	default:
		c.chunk(&chunk, now)
	}
}

// chunk takes a part of the answer.
func (c *chatStream) chunk(chunk *chatChunk, now time.Time) {
	text := false
	for _, ch := range chunk.Choices {
		text = text || ch.Text != "" || hasText(ch.Delta)
		c.state = max(c.state, chatAnswering)
		if ch.Finish != nil && ch.Finish != "" {
			c.state = chatFinished
		}
	}
	if text {
		if c.events == 0 {
			c.firstToken = now
		}
		c.lastToken = now
		c.events++
	}
	if chunk.Usage != nil {
		c.usage = max(c.usage, chunk.Usage.Completion)
	}
}

// other takes lines that are no field of an event stream. llama.cpp of before September 2025 writes
// "error: {...}", and a good end after it.
func (c *chatStream) other(line []byte) {
	c.progress()
	if rest, ok := bytes.CutPrefix(line, []byte("error:")); ok && !c.over() {
		c.fail(errorText(bytes.TrimSpace(rest)))
		return
	}
	c.stray = c.hide(string(line))
}

// errorText returns the message of an OpenAI error object, else the object.
func errorText(raw []byte) string {
	var e struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &e) == nil && e.Message != "" {
		return e.Message
	}
	return string(raw)
}

// verdict returns how a complete stream has ended; nil: complete. Some servers send no
// [DONE]; the model's finish_reason and the clean end of the body prove as much.
func (c *chatStream) verdict() error {
	switch {
	case c.state == chatFailed:
		return errors.New(c.reason)
	case c.state >= chatFinished:
		return nil
	case c.stray != "":
		return fmt.Errorf("the stream ended without [DONE] or a finish_reason, after %q", clean(c.stray, 80))
	}
	return fmt.Errorf("the stream ended without [DONE] or a finish_reason, after %d tokens", c.tokens())
}
