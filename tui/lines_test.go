package tui

import (
	"lightsout/internal/view"
	"strings"
	"testing"
	"time"
)

func TestPlainLinesAreHarmless(t *testing.T) {
	f := outage()
	e := view.Event{Seq: 20, At: f.Now, Lane: "event", Subject: "node\x1b[2J", Text: "bad\r\nnews\u202e"}
	q := view.Question{Title: "Shut down \x1b]0;n\x07?", Lines: []view.Line{{Level: view.Bad, Text: "no\nway"}}}
	offset := 0.1
	power := view.Event{Seq: 21, At: f.Now, Offset: &offset, Lane: "power", Subject: "kube-node3", Text: "shutdown asked for (ssh)"}
	lines := append(QuestionLines(q), Line(e), Line(power))
	for _, l := range lines {
		if strings.ContainsAny(l, "\x1b\r\n\x07\u202e") {
			t.Errorf("control characters in %q", l)
		}
	}
	if want := "T+00:00.1 power kube-node3 shutdown asked for (ssh)"; !strings.HasSuffix(lines[3], want) {
		t.Errorf("%q does not end in %q", lines[3], want)
	}
	if want := "event node bad  news"; !strings.HasSuffix(lines[2], want) {
		t.Errorf("%q does not end in %q", lines[2], want)
	}
}

func TestOffsetsAreSigned(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "T+00:00.0", -1500 * time.Millisecond: "T-00:01.5", 83400 * time.Millisecond: "T+01:23.4",
		2*time.Hour + 3*time.Second: "T+2:00:03.0",
	} {
		if got := signed(d, true); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
