package loadgen

import (
	"slices"
	"strings"
	"testing"
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
		p.flush()
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
