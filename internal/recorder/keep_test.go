package recorder

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
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
		strings.Contains(got[0].Sentence, "equests of") || !strings.Contains(got[1].Sentence, "requests of lightsout fail") {
		t.Errorf("hooks receive %+v", got)
	}
	failed := s.now.Add(-6*time.Second + 100*time.Millisecond)
	for range 15 {
		s.look(1)
		s.Record(loadgen.Record{Run: 1, Scheduled: s.now, Sent: s.now, End: s.now, Class: loadgen.ClassOK})
	}
	if want := "requests of lightsout failed until " + failed.UTC().Format("15:04:05") + " UTC"; len(got) != 3 || !strings.Contains(got[2].Sentence, want) {
		t.Errorf("hooks receive %+v, not that %s", got[2:], want)
	}
}

// An outage that begins soon after another is of its record, and a notice tells the newer one first.
func TestANoticeTellsTheNewestOutageFirst(t *testing.T) {
	s := newScreen(t)
	var got []Notice
	s.opt.Notify = func(n Notice) { got = append(got, n) }
	s.fails("n2")
	s.look(6)
	delete(s.down, "n2")
	s.look(5)
	s.fails("n3")
	s.look(12)
	if said := got[len(got)-1].Sentence; !strings.HasPrefix(said, "n3 fell silent at ") || !strings.Contains(said, ". This continues the record begun at "+got[0].Zero.UTC().Format(time.TimeOnly)+" UTC: n2 fell silent at ") {
		t.Errorf("%q", said)
	}
}

// A notice names the deployments that lack pods, the worst first, as soon as some do.
func TestANoticeNamesWhatLacksPods(t *testing.T) {
	s := newScreen(t)
	var got []Notice
	s.opt.Notify = func(n Notice) { got = append(got, n) }
	available := map[string]int{"web": 6, "model": 3, "idle": 0}
	s.change = func(c *cluster.Contents) {
		for name, of := range map[string]int{"web": 6, "model": 3, "idle": 2} {
			c.Deployments = append(c.Deployments, &cluster.Deployment{Key: cluster.Key{Namespace: "default", Name: name}, Replicas: of, Available: available[name]})
		}
	}
	s.look(3)
	s.fails("n2")
	s.look(6)
	available["web"], available["model"] = 4, 0
	s.look(12)
	if len(got) != 2 || strings.Contains(got[0].Sentence, "pods available") ||
		!strings.HasSuffix(got[1].Sentence, "; pods available now: 0 of 3 of default/model, 4 of 6 of default/web.") {
		t.Errorf("hooks receive %+v", got)
	}
	delete(s.down, "n2")
	s.opt.Trial = nil // no screen
	s.look(2)
	const whole = "no sign of the outage shows any more, and all pods are available"
	if said := strings.Join(s.printed, "\n"); strings.Contains(said, whole) {
		t.Errorf("printed while pods lack: %q", said)
	}
	available["web"], available["model"] = 6, 3
	s.look(4)
	if said := strings.Join(s.printed, "\n"); strings.Count(said, whole) != 1 {
		t.Errorf("printed %q", said)
	}
}

// The first service without an endpoint is news, and the others change no word of the sentence.
func TestANoticeThatSaysNothingNewIsNotSent(t *testing.T) {
	s := newScreen(t)
	var got []Notice
	s.opt.Notify = func(n Notice) { got = append(got, n) }
	ready := map[string]int{"a": 1, "b": 1, "c": 1}
	s.change = func(c *cluster.Contents) {
		for _, name := range []string{"a", "b", "c"} {
			c.Endpoints = append(c.Endpoints, &cluster.Endpoints{Service: cluster.Key{Namespace: "default", Name: name}, Ready: ready[name], Total: 1})
		}
	}
	s.look(3)
	for _, name := range []string{"a", "b", "c"} {
		ready[name] = 0
		s.look(18)
	}
	for i := range got[1:] {
		if got[i+1].Sentence == got[i].Sentence {
			t.Errorf("hooks hear twice: %s", got[i].Sentence)
		}
	}
	if len(got) == 0 {
		t.Error("hooks hear nothing")
	}
}
