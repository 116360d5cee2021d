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

// chatBodies returns the bodies of the streamed chat completion requests that
// are sent in turn, one for each prompt; bare ones have no stream_options.
func chatBodies(t Target, bare bool) (bodies [][]byte, err error) {
	prompts := t.Prompts
	switch {
	case len(prompts) > 0:
	case t.Prompt != "":
		prompts = []string{t.Prompt}
	default:
		prompts = BuiltinPrompts
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
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, b)
	}
	return bodies, nil
}

// chatStream follows one streamed chat completion.
type chatStream struct {
	sseParser
	progress func() time.Time    // is called for each event and other line, returns the time
	hide     func(string) string // hides the client's secrets

	firstToken time.Time
	lastToken  time.Time
	gaps       []time.Duration // between tokens, not yet taken
	maxGap     time.Duration
	events     int    // events with text in them
	usage      int    // tokens as the server counts them; 0: unreported
	answered   bool   // a chunk had a choice: a part of an answer, though perhaps an empty one
	finished   bool   // a choice had a finish_reason: the model has ended its answer
	done       bool   // the end mark has come
	failed     string // the error inside the stream
	stray      string // the last line that is not a field of an event stream
}

func newChatStream(progress func() time.Time, hide func(string) string) *chatStream {
	c := &chatStream{progress: progress, hide: hide}
	c.onData, c.onOther = c.event, c.other
	return c
}

// tokens returns the number of tokens so far.
func (c *chatStream) tokens() int { return max(c.usage, c.events) }

type chatChunk struct {
	Choices []struct {
		Delta  map[string]any `json:"delta"`
		Text   string         `json:"text"`
		Finish any            `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
	Error  json.RawMessage `json:"error"`
	Object any             `json:"object"`
}

// generated are the fields of a delta that hold what the model generates: the answer, as a
// text or as a list of parts (Mistral); its reasoning, which vLLM, Ollama and OpenRouter call
// "reasoning", and vLLM once, llama.cpp and SGLang "reasoning_content"; calls of tools, in the current and the older form.
var generated = []string{"content", "reasoning", "reasoning_content", "refusal", "tool_calls", "function_call"}

// labels are the fields of a part or of a tool call that name it and are no text of the model's.
var labels = []string{"type", "id", "index", "role"}

// hasText reports whether a value of a delta contains text.
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

// failed returns the error in a chunk that contains one as a whole; empty if it contains none.
// Servers use several forms: the field "error"; an object of the kind "error" (vLLM's
// ErrorResponse); a choice whose finish_reason is "error" or "abort", which vLLM sends before
// [DONE] when its engine shuts down (github.com/vllm-project/vllm/issues/57082).
func (c *chatChunk) failed(data []byte) string {
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return errorText(c.Error)
	}
	if c.Object == "error" {
		return errorText(data)
	}
	for _, ch := range c.Choices {
		if ch.Finish == "error" || ch.Finish == "abort" {
			return fmt.Sprintf("finish_reason: %s", ch.Finish)
		}
	}
	return ""
}

func (c *chatStream) event(kind string, data []byte) {
	now := c.progress()
	data = bytes.TrimSpace(data)
	if c.done || c.failed != "" || len(data) == 0 && kind != "error" {
		return
	}
	if string(data) == "[DONE]" {
		c.done = true
		return
	}
	var chunk chatChunk
	err := json.Unmarshal(data, &chunk)
	within := ""
	if err == nil {
		within = chunk.failed(data)
	}
	if kind == "error" && within == "" {
		c.failed = errorText(data) // the event itself is the error
		return
	}
	if err != nil {
		// A chunk in an unknown form; without the end mark it fails anyway.
		c.stray = c.hide(string(data))
		return
	}
	if within != "" {
		c.failed = within
		return
	}
	c.answered = c.answered || len(chunk.Choices) > 0
	text := false
	for _, ch := range chunk.Choices {
		text = text || ch.Text != "" || slices.ContainsFunc(generated, func(field string) bool { return hasText(ch.Delta[field]) })
		c.finished = c.finished || ch.Finish != nil && ch.Finish != ""
	}
	if text {
		if c.events == 0 {
			c.firstToken = now
		} else {
			gap := now.Sub(c.lastToken)
			c.gaps, c.maxGap = append(c.gaps, gap), max(c.maxGap, gap)
		}
		c.lastToken = now
		c.events++
	}
	if chunk.Usage != nil {
		c.usage = max(c.usage, chunk.Usage.Completion)
	}
}

// other takes lines that are no field of an event stream. llama.cpp once
// wrote errors as a field of its own, "error: {...}".
func (c *chatStream) other(line []byte) {
	c.progress()
	if rest, ok := bytes.CutPrefix(line, []byte("error:")); ok && !c.done && c.failed == "" {
		c.failed = errorText(bytes.TrimSpace(rest))
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
	if len(raw) == 0 {
		return "no message"
	}
	return string(raw)
}

// verdict returns how a complete stream has ended; nil: complete. Some servers send no
// [DONE]; the model's finish_reason and the clean end of the body prove as much.
func (c *chatStream) verdict() error {
	switch {
	case c.failed != "":
		return fmt.Errorf("an error came inside the stream: %s", cmp.Or(clean(c.hide(c.failed), maxErrorText), "no message"))
	case c.answered && (c.done || c.finished):
		return nil
	case c.done:
		return errors.New("the stream ended with [DONE], and had no answer")
	case c.stray != "":
		return fmt.Errorf("the stream ended without [DONE] or a finish_reason, after %q", clean(c.stray, 80))
	}
	return fmt.Errorf("the stream ended without [DONE] or a finish_reason, after %d tokens", c.tokens())
}
