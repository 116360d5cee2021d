package loadgen

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// chatOf follows a stream in pieces of n bytes.
func chatOf(stream string, n int) *chatStream {
	c := newChatStream(time.Now, func(s string) string { return s })
	_ = c.read(inPieces(stream, n), make([]byte, 0, 64), c.over)
	return c
}

// endLine fits a line with what may end an answer well.
var endLine = regexp.MustCompile(`(?mi)^.*(?:\[DONE\]|finish_reason|\\).*$`)

// However a stream is cut into pieces, and whatever comments a gateway puts between its events, its
// outcome is the same. It is good only by an end mark, [DONE] or a finish_reason, and what follows
// [DONE] does not change it.
func FuzzChatStream(f *testing.F) {
	for _, in := range []string{
		token("a") + done, "data: {\"error\":{\"message\":\"x\"}}\n\n" + done, "data: {\"error\":null,\"choices\":[{\"text\":\"x\"}]}\n\ndata: [DONE]",
		"data: {\"choices\":null,\"usage\":{\"completion_tokens\":-3}}\n\n", token("a") + "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n",
		"error: x\n\n" + token("a") + done,
	} {
		f.Add(in, 3)
	}
	f.Fuzz(func(t *testing.T, in string, n int) {
		in = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(in)
		c := chatOf(in, len(in)+1)
		outcome := func(c *chatStream) string { return fmt.Sprint(c.verdict(), c.tokens(), c.events) }
		same := map[string]string{
			"in pieces":     outcome(chatOf(in, n&7+1)),
			"with comments": outcome(chatOf(strings.ReplaceAll(in, "\n", "\n: ping\n"), len(in)*9+1)),
		}
		if c.state == chatDone {
			same["with an error after its end"] = outcome(chatOf(in+"\n\nevent: error\ndata: x\n\n", len(in)+99))
		}
		for how, got := range same {
			if got != outcome(c) {
				t.Fatalf("%q: %s, %s: %s", in, outcome(c), how, got)
			}
		}
		if endless := endLine.ReplaceAllString(in, ": gone"); chatOf(endless, len(in)+99).verdict() == nil {
			t.Fatalf("%q passes without an end mark", endless)
		}
		if c.tokens() < 0 || (c.events > 0) == c.firstToken.IsZero() {
			t.Fatalf("%q: %d tokens, %d events, first at %v", in, c.tokens(), c.events, c.firstToken)
		}
		if err := c.verdict(); err != nil && clean(err.Error(), 10_000) != err.Error() {
			t.Fatalf("%q: the error %q has control characters", in, err)
		}
	})
}

// chunkOf is an event with a chunk of one choice.
func chunkOf(delta, finish string) string {
	return fmt.Sprintf("data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
}

// Model servers as they stream, each in its own form.
func TestChatStream(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in     string
		ok     bool
		tokens int
	}{
		// vLLM: reasoning; the usage in a chunk of its own; comments while a request waits.
		{": keep-alive\n\n" + chunkOf(`{"role":"assistant","content":""}`, "null") + chunkOf(`{"reasoning":"hm"}`, "null") + ": keep-alive\n\n" + chunkOf(`{"content":"a"}`, "null") +
			chunkOf(`{"content":""}`, `"stop"`) + "data: {\"choices\":[],\"usage\":{\"completion_tokens\":3}}\n\n" + done, true, 3},
		{chunkOf(`{"content":"a"}`, "null") + "data: {\"error\":{\"message\":\"EngineCore died\",\"code\":500}}\n\n" + done, false, 1},
		// llama.cpp: an empty comment each second; a first delta of null; timings.
		{":\n\n" + chunkOf(`{"role":"assistant","content":null}`, "null") + chunkOf(`{"reasoning_content":"hm"}`, "null") + ":\n\n" + chunkOf(`{"content":"a"}`, "null") + chunkOf(`{}`, `"stop"`) +
			"data: {\"choices\":[],\"usage\":{\"completion_tokens\":2},\"timings\":{\"predicted_n\":2}}\n\n" + done, true, 2},
		{chunkOf(`{"content":"a"}`, "null") + "error: {\"code\":500,\"message\":\"context shift is disabled\"}\n\n" + done, false, 1},
		// Ollama: a call of a tool beside empty content; text and end in one chunk.
		{chunkOf(`{"role":"assistant","content":"","tool_calls":[{"id":"call_1","index":0,"type":"function","function":{"name":"ls","arguments":"{}"}}]}`, "null") +
			chunkOf(`{"role":"assistant","content":""}`, `"tool_calls"`) + done, true, 1},
		{chunkOf(`{"role":"assistant","content":"","reasoning":"hm"}`, "null") + chunkOf(`{"role":"assistant","content":"a"}`, `"stop"`) + done, true, 2},
		// TGI: a call of a tool that is no list; an error that is a text.
		{chunkOf(`{"role":"assistant","content":"a"}`, "null") + chunkOf(`{"role":"assistant","content":""}`, `"length"`) + done, true, 1},
		{chunkOf(`{"role":"assistant","tool_calls":{"index":0,"id":"","type":"function","function":{"name":null,"arguments":"{"}}}`, "null") + chunkOf(`{}`, `"stop"`) + done, true, 1},
		{chunkOf(`{"role":"assistant","content":"a"}`, "null") + "data: {\"error\":\"Request failed during generation\",\"error_type\":\"generation\"}\n\n", false, 1},
		// SGLang: the fields that it does not use are null.
		{chunkOf(`{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null}`, "null") + chunkOf(`{"role":null,"content":null,"reasoning_content":"hm","tool_calls":null}`, "null") +
			chunkOf(`{"content":"a","reasoning_content":null}`, "null") + chunkOf(`{"content":null}`, `"stop"`) + done, true, 2},
		// OpenRouter: comments; details of the reasoning; an error in a chunk that has a choice.
		{": OPENROUTER PROCESSING\n\n" + chunkOf(`{"role":"assistant","content":"","reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","format":"unknown","index":0}]}`, "null") +
			": OPENROUTER PROCESSING\n\n" + chunkOf(`{"role":"assistant","content":"a"}`, "null") + chunkOf(`{"role":"assistant","content":""}`, `"stop"`) + done, true, 2},
		{chunkOf(`{"content":"","reasoning_details":[{"type":"reasoning.text","signature":"c2ln","format":"f","index":0}]}`, `"stop"`) + done, true, 0},
		{chunkOf(`{"content":"a"}`, "null") + "data: {\"error\":{\"code\":\"server_error\",\"message\":\"Provider disconnected\"},\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}\n\n", false, 1},
		{"data: {\"choices\":[{\"error\":{\"message\":\"gone\"},\"delta\":{\"content\":\"\"},\"finish_reason\":\"stop\"}]}\n\n" + done, false, 0},
		// Mistral: content as a list, in which thinking is one.
		{chunkOf(`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`, "null") + chunkOf(`{"content":[{"type":"text","text":"a"}]}`, "null") +
			chunkOf(`{"content":"b"}`, "null") + chunkOf(`{"content":""}`, `"stop"`) + done, true, 3},
		// The older form of a call of a tool; a name of reasoning that nobody has used yet.
		{chunkOf(`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":""}}`, "null") + chunkOf(`{"thoughts":"hm"}`, `"function_call"`) + done, true, 2},

		{token("a") + done, true, 1},
		{"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n" + token("a") + done, true, 1},
		{"data: {\"choices\":[{\"delta\":{\"content\":null,\"reasoning\":\"hm\"}}]}\n\n" + token("a") + done, true, 2}, // vLLM, Ollama, OpenRouter
		{`data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}}]}` + "\n\n" + done, true, 1},
		{`data: {"choices":[{"delta":{"content":[{"type":"text","text":""}]}}]}` + "\n\n" + done, true, 0},
		{`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":""}}]}}]}` + "\n\n" + done, true, 1},
		{`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"arguments":""}}]}}]}` + "\n\n" + done, true, 0},
		{token("a") + `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n", true, 1},
		{token("a") + `data: {"choices":[{"delta":{},"finish_reason":null}]}` + "\n\n", false, 1},
		{"data: {\"error\":null,\"choices\":[{\"text\":\"x\"}]}\n\n" + done, true, 1},
		{"data: {\"error\":\"gone\"}\n\n" + done, false, 0},
		{token("a") + "event: error\ndata: {\"message\":\"gone\"}\n\n" + done, false, 1},
		{"event: error\ndata: {\"error\":{\"message\":\"gone\"}}\n\n" + done, false, 0},
		{"event: error\ndata: gone\n\n" + done, false, 0},
		{"event: error\ndata:\n\n" + done, false, 0},
		{"event: message\n" + token("a") + done, true, 1},
		{token("a") + "data: {\"object\":\"error\",\"message\":\"gone\",\"code\":500}\n\n" + done, false, 1},
		{token("a") + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"abort\"}]}\n\n" + done, false, 1},
		{token("a") + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\n" + done, false, 1},
		{"data: {\"object\":1,\"choices\":[{\"text\":\"x\",\"finish_reason\":0}]}\n\n" + done, true, 1},
		{token("a") + "data: [DON", false, 1},
		{token("[DONE]"), false, 1},
		{"", false, 0},
		{done, false, 0},
		{"data: {\"detail\":\"the engine is dead\"}\n\n" + done, false, 0},
		{"data: {\"choices\":[]}\n\n" + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" + done, true, 0},
	} {
		c := chatOf(tt.in, 37)
		if err := c.verdict(); (err == nil) != tt.ok || c.tokens() != tt.tokens || (tt.tokens > 0) == c.firstToken.IsZero() {
			t.Errorf("%q: %v, %d tokens, want %v, %d", tt.in, err, c.tokens(), tt.ok, tt.tokens)
		}
	}
}
