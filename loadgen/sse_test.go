package loadgen

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// parseSSE feeds a stream in pieces of n bytes.
func parseSSE(stream string, n int) (events, other []string, err error) {
	p := sseParser{
		onData: func(kind string, b []byte) {
			if kind != "" {
				kind += " "
			}
			events = append(events, kind+string(b))
		},
		onOther: func(b []byte) { other = append(other, string(b)) },
	}
	for len(stream) > 0 && err == nil {
		k := min(n, len(stream))
		err = p.feed([]byte(stream[:k]))
		stream = stream[k:]
	}
	if err == nil {
		err = p.flush()
	}
	return events, other, err
}

func TestEventStream(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", 200_000)
	tests := []struct {
		name, in string
		want     []string
		other    []string
	}{
		{"one event", "data: a\n\n", []string{"a"}, nil},
		{"without the space", "data:a\n\n", []string{"a"}, nil},
		{"only one space goes", "data:  a\n\n", []string{" a"}, nil},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}, nil},
		{"CR", "data: a\r\rdata: b\r\r", []string{"a", "b"}, nil},
		{"several lines", "data: a\ndata: b\n\n", []string{"a\nb"}, nil},
		{"comments and other fields", ": ping\n\nevent: x\nid: 1\nretry: 5\ndata: a\n\ndata: b\n\n", []string{"x a", "b"}, nil},
		{"empty data", "data\n\n", []string{""}, nil},
		{"no event without data", "event: x\n\n\n\n", nil, nil},
		{"no blank line at the end", "data: [DONE]", []string{"[DONE]"}, nil},
		{"byte order mark", "\ufeffdata: a\n\n", []string{"a"}, nil},
		{"longer than a scanner's line", "data: " + long + "\n\n", []string{long}, nil},
		{"a proxy's words", "data: a\n\nrequest timeout", []string{"a"}, []string{"request timeout"}},
	}
	for _, tt := range tests {
		for _, n := range []int{1, 3, 4096} {
			events, other, err := parseSSE(tt.in, n)
			if err != nil || !slices.Equal(events, tt.want) || !slices.Equal(other, tt.other) {
				t.Errorf("%s, %d bytes at a time: %.100q %.100q %v", tt.name, n, events, other, err)
			}
		}
	}
	if _, _, err := parseSSE("data: "+strings.Repeat("x", 2*maxSSELine), 4096); err == nil {
		t.Error("a line without end is held in memory")
	}
}

// However a stream is cut into pieces, its events are the same; and what is
// told are the lines of the stream.
func FuzzEventStream(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "data: a\r\n\r\n:x\r\rdata:b\n\n", "\ufeffdata", "error: {}\n\n", "data: [DONE]", "\r\r\n\n\r"} {
		f.Add(s, 1)
	}
	f.Fuzz(func(t *testing.T, in string, n int) {
		whole, otherWhole, err := parseSSE(in, len(in)+1)
		if err != nil {
			return
		}
		n = n%7 + 7
		cut, otherCut, err := parseSSE(in, n)
		if err != nil || !slices.Equal(whole, cut) || !slices.Equal(otherWhole, otherCut) {
			t.Fatalf("%q in pieces of %d: %q and %q, whole %q and %q (%v)", in, n, cut, otherCut, whole, otherWhole, err)
		}
		lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(in, "\ufeff")), "\n")
		count := 0
		for _, l := range lines {
			if l == "data" || strings.HasPrefix(l, "data:") {
				count++
			}
		}
		told := 0
		for _, e := range whole {
			told += strings.Count(e, "\n") + 1
		}
		if told != count {
			t.Fatalf("%q: %d data lines, %d told", in, count, told)
		}
	})
}

func chatOf(stream string) *chatStream {
	c := newChatStream(time.Now, func(s string) string { return s })
	c.feed([]byte(stream))
	c.flush()
	return c
}

// Only an end mark, [DONE] or a finish_reason, makes a stream complete.
func FuzzChatStream(f *testing.F) {
	f.Add(token("a") + done)
	f.Add("data: {\"error\":{\"message\":\"x\"}}\n\n" + done)
	f.Add("data: {\"error\":null,\"choices\":[{\"text\":\"x\"}]}\n\ndata: [DONE]")
	f.Add("data: {\"choices\":null,\"usage\":{\"completion_tokens\":-3}}\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		c := chatOf(in)
		if c.verdict() == nil && !c.done && !c.finished {
			t.Fatalf("%q passes without its end mark", in)
		}
		if c.tokens() < 0 || (c.events > 0) == c.firstToken.IsZero() {
			t.Fatalf("%q: %d tokens, %d events, first at %v", in, c.tokens(), c.events, c.firstToken)
		}
		if err := c.verdict(); err != nil && clean(err.Error(), 10_000) != err.Error() {
			t.Fatalf("%q: the error %q has control characters", in, err)
		}
	})
}

func TestChatStream(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in     string
		ok     bool
		tokens int
	}{
		{token("a") + done, true, 1},
		{"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n" + token("a") + done, true, 1},
		{"data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n" + done, true, 1},
		{"data: {\"choices\":[{\"delta\":{\"content\":null,\"reasoning\":\"hm\"}}]}\n\n" + token("a") + done, true, 2}, // vLLM, Ollama, OpenRouter
		{`data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}}]}` + "\n\n" + done, true, 1},
		{`data: {"choices":[{"delta":{"content":[{"type":"text","text":""}]}}]}` + "\n\n" + done, true, 0},
		{`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":""}}]}}]}` + "\n\n" + done, true, 1},
		{`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"arguments":""}}]}}]}` + "\n\n" + done, true, 0},
		{token("a") + `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n", true, 1},
		{token("a") + `data: {"choices":[{"delta":{},"finish_reason":null}]}` + "\n\n", false, 1},
		{token("a") + `data: {"choices":[{"delta":{},"finish_reason":""}]}` + "\n\n", false, 1},
		{"data: {\"error\":null,\"choices\":[{\"text\":\"x\"}]}\n\n" + done, true, 1},
		{"data: {\"error\":\"gone\"}\n\n" + done, false, 0},
		{token("a") + "event: error\ndata: {\"message\":\"gone\"}\n\n" + done, false, 1},
		{"event: error\ndata: {\"error\":{\"message\":\"gone\"}}\n\n" + done, false, 0},
		{"event: error\ndata: gone\n\n" + done, false, 0},
		{"event: error\ndata:\n\n" + done, false, 0},
		{"event: error\ndata: {\"error\":null,\"message\":\"gone\"}\n\n" + done, false, 0},
		{"event: message\n" + token("a") + done, true, 1},
		{token("a") + "data: {\"object\":\"error\",\"message\":\"gone\",\"code\":500}\n\n" + done, false, 1},
		{token("a") + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"abort\"}]}\n\n" + done, false, 1},
		{token("a") + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\n" + done, false, 1},
		{token("a") + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n" + done, true, 1},
		{"data: {\"object\":1,\"choices\":[{\"text\":\"x\",\"finish_reason\":0}]}\n\n" + done, true, 1},
		{token("a") + "data: [DON", false, 1},
		{token("[DONE]"), false, 1},
		{fmt.Sprintf("data: %q\n\n", "[DONE]"), false, 0},
		{"", false, 0},
		{done, false, 0},
		{"data: {\"detail\":\"the engine is dead\"}\n\n" + done, false, 0},
		{"data: {\"choices\":[]}\n\n" + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" + done, true, 0},
	} {
		c := chatOf(tt.in)
		if (c.verdict() == nil) != tt.ok || c.tokens() != tt.tokens {
			t.Errorf("%q: %v, %d tokens", tt.in, c.verdict(), c.tokens())
		}
	}
}
