package recorder

import (
	"strings"
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/loadgen"
)

// A notice's sentence and severity agree, and hooks receive another when clients begin to
// notice the outage.
func TestANoticeFollowsWhatClientsNotice(t *testing.T) {
	s := newScreen(t)
	var got []Notice
	s.opt.Notify = func(n Notice) { got = append(got, n) }
	s.fails("n2")
	s.look(6)
	s.Record(loadgen.Record{Run: 1, Scheduled: s.now, Sent: s.now, End: s.now.Add(100 * time.Millisecond), Class: loadgen.ClassRefused})
	s.look(6)
	if len(got) != 2 || got[0].Severity != record.SeverityUnknown || got[1].State != StateChanged || got[1].Severity != record.SeverityDegraded ||
		strings.Contains(got[0].Sentence, "clients") || !strings.Contains(got[1].Sentence, "clients see errors") {
		t.Errorf("hooks receive %+v", got)
	}
}
