package cli

import (
	"strings"
	"testing"
	"time"

	"lightsout/internal/terminal"
	"lightsout/internal/view"
)

func TestPlainLinesAreHarmless(t *testing.T) {
	now := time.Date(2026, 3, 4, 10, 20, 30, 0, time.UTC)
	e := view.Event{Seq: 20, At: now, Lane: "event", Subject: "node\x1b[2J", Text: "bad\r\nnews\u202e"}
	q := view.Question{Title: "Shut down \x1b]0;n\x07?", Lines: []view.Line{{Level: view.Bad, Text: "no\nway"}}}
	offset := 0.1
	power := view.Event{Seq: 21, At: now, Offset: &offset, Lane: "power", Subject: "kube-node3", Text: "shutdown asked for (ssh)"}
	lines := append(questionLines(q), terminal.EventLine(e), terminal.EventLine(power))
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
