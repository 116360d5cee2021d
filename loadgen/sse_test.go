package loadgen

import (
	"io"
	"slices"
	"strings"
	"testing"
)

// pieces reads a text so many bytes at a time.
type pieces struct {
	io.Reader
	n int
}

func (p *pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), p.n)]) }

func inPieces(text string, n int) io.Reader { return &pieces{strings.NewReader(text), n} }

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
	err = p.read(inPieces(stream, n), make([]byte, 0, 64), func() bool { return false })
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
		{"several lines", "data: a\ndata: b\n\n", []string{"a\nb"}, nil},
		{"comments and other fields", ": ping\n\nevent: x\nid: 1\nretry: 5\ndata: a\n\ndata: b\n\n", []string{"x a", "b"}, nil},
		{"empty data", "data\n\n", []string{""}, nil},
		{"no event without data", "event: x\n\n\n\n", nil, nil},
		{"no blank line at the end", "data: [DONE]", []string{"[DONE]"}, nil},
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
