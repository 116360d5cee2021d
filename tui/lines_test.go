package tui

import (
	"strings"
	"testing"
	"time"

	"lightsout/trial"
)

func TestLinesWritesEachEventOnceAndHarmless(t *testing.T) {
	var b strings.Builder
	l := NewLines(&b)
	f := outage()
	f.Events = append(f.Events, trial.Event{Seq: 20, At: f.Now, Lane: "event", Subject: "node\x1b[2J", Text: "bad\r\nnews\u202e"})
	f.Notice, f.NoticeAt = "the record can't be written", f.Now
	for range 2 {
		if err := l.Frame(f); err != nil {
			t.Fatal(err)
		}
	}
	out := b.String()
	for _, want := range []string{
		"T+00:00.1 power kube-node3 shutdown asked for (ssh)\n",
		"T+01:20.4 node kube-node3 Ready (silent 49s) → NotReady (silent 49s)\n",
		"event node [2J bad  news\n",
		"(6 events are in the record only)\n",
		"notice the record can't be written\n",
	} {
		if strings.Count(out, want) != 1 {
			t.Errorf("%q is there %d times in:\n%s", want, strings.Count(out, want), out)
		}
	}
	if strings.ContainsAny(out, "\x1b\r") {
		t.Errorf("control characters in %q", out)
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
