package power_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"lightsout/power"
	"lightsout/power/driver/mdx"
)

func binding() []power.Binding {
	m := power.Machine{Driver: mdx.DriverName, ID: "vm-3", Name: "kube-node3", Params: map[string]string{power.ParamServiceLevel: "spot"}}
	return []power.Binding{{Node: power.NodeRef{Name: "kube-node3", BootID: "boot-1"}, Off: &m, On: &m}}
}

// quick are deadlines that a test can wait for.
var quick = power.Config{Timeouts: map[power.Action]time.Duration{power.ActionShutdown: 600 * time.Millisecond, power.ActionOff: 600 * time.Millisecond, power.ActionOn: 5 * time.Second},
	PollInterval: 20 * time.Millisecond, ReadTimeout: 200 * time.Millisecond}

// held gives a journal's entries in short: "intent off", "outcome off failed
// (not sent)", "seen".
func held(t *testing.T, dir string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "power.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	entries, damaged, err := power.ReadJournal(f)
	if err != nil || damaged > 0 {
		t.Fatalf("%d damaged lines, %v", damaged, err)
	}
	var out []string
	for _, e := range entries {
		line := string(e.Kind)
		if e.Action != "" {
			line += " " + string(e.Action)
		}
		if e.Kind == power.EntryOutcome {
			line += " " + string(e.Stage)
			if e.Arrival.Fate == power.NotSent {
				line += " (not sent)"
			}
		}
		out = append(out, line)
	}
	return out
}

// leftOff is what the next start is told, "kube-node3 uncertain" for example.
func leftOff(t *testing.T, dir string) string {
	t.Helper()
	j := power.OpenJournal(dir, power.Cluster{Name: "lab"}, "")
	j.SetCarriedOut(time.Millisecond)
	defer j.Close()
	left, err := j.LeftOff()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range left {
		out = append(out, l.Node+" "+l.Stands.String())
	}
	return strings.Join(out, ", ")
}

// answering is a fault: the portal answers power requests so.
func answering(code int, carriedOut string) func(s *site) {
	return func(s *site) {
		s.answer = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost {
				return false
			}
			if carriedOut != "" {
				s.set(carriedOut)
			}
			http.Error(w, `{"detail": "no"}`, code)
			return true
		}
	}
}

// twice makes the portal of a machine that is off refuse two requests with code.
func twice(code int) func(s *site) {
	return func(s *site) {
		s.status = "PowerOFF"
		s.answer = func(w http.ResponseWriter, r *http.Request) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			if r.Method == http.MethodPost && len(s.posts) < 3 {
				w.WriteHeader(code)
				return true
			}
			return false
		}
	}
}

// TestFaultsAtEveryStep is the table of what goes wrong, what the operator is
// told, what the journal holds, and what the next start offers to power on.
func TestFaultsAtEveryStep(t *testing.T) {
	t.Parallel()
	const off, on = power.ActionOff, power.ActionOn
	uncertain, none := "kube-node3 uncertain", ""
	for _, c := range []struct {
		fault  string
		action power.Action
		make   func(s *site)

		stage   power.Stage
		told    string // part of the last sentence
		posts   string // power requests that reached the portal
		journal []string
		left    string
	}{
		{"none", off, func(*site) {}, power.StageDone, "is off, proven (PowerOFF)", "power_off", []string{"intent off", "outcome off done"}, "kube-node3 off"},
		{"the portal is gone", off, func(s *site) { s.portal.Close() },
			power.StageFailed, "can't be reached", "", []string{"intent off", "outcome off failed (not sent)"}, none},
		{"the portal has no such VM", off, func(s *site) {
			s.answer = func(w http.ResponseWriter, _ *http.Request) bool { http.Error(w, `{}`, 404); return true }
		}, power.StageFailed, "the portal has no such VM", "", []string{"intent off", "outcome off failed (not sent)"}, none},
		{"the token is wrong", off, func(s *site) {
			s.answer = func(w http.ResponseWriter, _ *http.Request) bool {
				http.Error(w, `{"detail": "bad `+token+`"}`, 401)
				return true
			}
		}, power.StageFailed, "token", "", []string{"intent off", "outcome off failed (not sent)"}, none},
		{"500, whatever is asked", off, func(s *site) {
			s.answer = func(w http.ResponseWriter, _ *http.Request) bool { http.Error(w, `{}`, 500); return true }
		}, power.StageFailed, "500", "", []string{"intent off", "outcome off failed (not sent)"}, none},
		{"404 to the request", off, answering(404, ""),
			power.StageFailed, "404", "power_off", []string{"intent off", "outcome off failed"}, uncertain},
		{"403 to the request", off, answering(403, ""),
			power.StageFailed, "may still go off until", "power_off", []string{"intent off", "outcome off failed"}, uncertain},
		{"429 to the request", off, answering(429, ""),
			power.StageFailed, "busy", "power_off", []string{"intent off", "outcome off failed"}, uncertain},
		{"500 to the request, not carried out", off, answering(500, ""),
			power.StageFailed, "off within 600ms of the request to switch off; it was last seen on (PowerON)", "power_off", []string{"intent off", "outcome off failed"}, uncertain},
		{"500 to the request, carried out", off, answering(500, "PowerOFF"),
			power.StageDone, "is off, proven", "power_off", []string{"intent off", "outcome off done"}, "kube-node3 off"},
		{"accepted and never done", off, func(s *site) { s.deaf = true },
			power.StageFailed, "it was last seen on (PowerON)", "power_off", []string{"intent off", "outcome off failed"}, uncertain},
		{"no answer to the request", off, func(s *site) {
			s.answer = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost {
					<-r.Context().Done()
				}
				return r.Method == http.MethodPost
			}
		}, power.StageFailed, "it was last seen on (PowerON)", "power_off", []string{"intent off", "outcome off failed"}, uncertain},
		{"accepted, and then the portal is gone", off, func(s *site) {
			s.answer = func(w http.ResponseWriter, r *http.Request) bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				if len(s.posts) == 0 {
					return false
				}
				if r.Method != http.MethodPost {
					w.WriteHeader(http.StatusBadGateway)
				}
				return true
			}
		}, power.StageUncertain, "its state can't be read", "power_off", []string{"intent off", "outcome off uncertain"}, uncertain},
		{"suspended by the platform", off, func(s *site) {
			s.deaf = true
			s.answer = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost {
					s.set("Suspended")
				}
				return false
			}
		}, power.StageUncertain, "last seen unknown (Suspended, by the platform)", "power_off", []string{"intent off", "outcome off uncertain"}, uncertain},
		{"409 to the request", off, answering(409, ""),
			power.StageFailed, "409 Conflict", "power_off", []string{"intent off", "outcome off failed"}, uncertain},
		{"403 to the request, carried out", off, answering(403, "PowerOFF"),
			power.StageDone, "is off (PowerOFF), although the power API refused", "power_off", []string{"intent off", "outcome off done"}, "kube-node3 off"},
		{"409 to the request, carried out by it or by another one", off, answering(409, "PowerOFF"),
			power.StageDone, "is off (PowerOFF), although the power API refused", "power_off", []string{"intent off", "outcome off done"}, "kube-node3 off"},
		{"403 to the request, and then no answer", off, func(s *site) {
			s.answer = func(w http.ResponseWriter, r *http.Request) bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				if r.Method != http.MethodPost && len(s.posts) == 0 {
					return false
				}
				w.WriteHeader(map[bool]int{true: http.StatusForbidden, false: http.StatusBadGateway}[r.Method == http.MethodPost])
				return true
			}
		}, power.StageUncertain, "was last seen unknown", "power_off", []string{"intent off", "outcome off uncertain"}, uncertain},
		{"302 to the request, carried out", off, answering(302, "PowerOFF"),
			power.StageDone, "is off (PowerOFF), although the power API refused", "power_off", []string{"intent off", "outcome off done"}, "kube-node3 off"},
		{"powering on: 429, then done", on, twice(http.StatusTooManyRequests),
			power.StageDone, "is on, proven", "power_on power_on power_on", []string{"intent on", "outcome on done"}, none},
		{"powering on: 409, then done", on, twice(http.StatusConflict), power.StageDone, "is on, proven", "power_on power_on power_on", []string{"intent on", "outcome on done"}, none},
		{"powering on: not allowed", on, func(s *site) { s.status = "PowerOFF"; answering(403, "")(s) },
			power.StageFailed, "does not allow", "power_on", []string{"intent on", "outcome on failed (not sent)"}, none},
	} {
		t.Run(string(c.action)+": "+c.fault, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			c.make(s)
			dir := t.TempDir()
			last := do(t, s, dir, s.driver(t, nil), c.action)
			if last.Stage != c.stage || !strings.Contains(last.Text, c.told) || strings.Contains(last.Text, "planted-secret") {
				t.Errorf("told %q (%s), want %q with %q", last.Text, last.Stage, c.stage, c.told)
			}
			s.mu.Lock()
			posts := strings.Join(s.posts, " ")
			s.mu.Unlock()
			if posts != c.posts {
				t.Errorf("the portal was asked to %q, want %q", posts, c.posts)
			}
			if got := held(t, dir); !reflect.DeepEqual(got, c.journal) {
				t.Errorf("the journal holds %q, want %q", got, c.journal)
			}
			if got := leftOff(t, dir); got != c.left {
				t.Errorf("the next start is told %q, want %q", got, c.left)
			}
			if data, _ := os.ReadFile(filepath.Join(dir, "power.jsonl")); strings.Contains(string(data), "planted-secret") {
				t.Error("the token is in the journal")
			}
		})
	}
}

// do carries an action out and gives the last thing that the operator is told.
func do(t *testing.T, s *site, dir string, d power.Driver, action power.Action) (last power.Progress) {
	t.Helper()
	j := power.OpenJournal(dir, power.Cluster{Name: "lab"}, "")
	j.SetCarriedOut(time.Millisecond)
	defer j.Close()
	f, err := power.NewFleet(quick, j, map[string]power.Driver{mdx.DriverName: d})
	if err != nil {
		t.Fatal(err)
	}
	f.SetRetryPause(20 * time.Millisecond)
	err = f.Unjudged(context.Background(), action, binding(), func(p power.Progress) { last = p })
	var failed *power.ActionError
	if (last.Stage == power.StageDone) != (err == nil) || (err != nil && (!errors.As(err, &failed) || failed.Failed["kube-node3"] != last.Text)) {
		t.Errorf("returned %v after %q", err, last.Text)
	}
	return last
}

func TestFaultsOfTheBastion(t *testing.T) {
	t.Parallel()
	t.Run("gone before anything was sent", func(t *testing.T) {
		s, dir := newSite(t), t.TempDir()
		client := s.throughBastion(t)
		s.loseBastion()
		last := do(t, s, dir, s.driver(t, client.DialContext), power.ActionOff)
		if last.Stage != power.StageFailed || !strings.Contains(last.Text, s.bastion.Addr().String()) {
			t.Errorf("told %q (%s)", last.Text, last.Stage)
		}
		if got := held(t, dir); !reflect.DeepEqual(got, []string{"intent off", "outcome off failed (not sent)"}) || leftOff(t, dir) != "" || len(s.posts) != 0 {
			t.Errorf("the journal holds %q, left off %q, asked %q", got, leftOff(t, dir), s.posts)
		}
	})
	for name, carriedOut := range map[string]bool{"gone while the request was under way": false, "gone when it was carried out": true} {
		t.Run(name, func(t *testing.T) {
			s, dir := newSite(t), t.TempDir()
			client := s.throughBastion(t)
			s.answer = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost {
					return false
				}
				if carriedOut {
					s.set("PowerOFF")
				}
				s.loseBastion()
				return true
			}
			last := do(t, s, dir, s.driver(t, client.DialContext), power.ActionOff)
			if last.Stage != power.StageUncertain || !strings.Contains(last.Text, "its state can't be read") {
				t.Errorf("told %q (%s)", last.Text, last.Stage)
			}
			if got := held(t, dir); !reflect.DeepEqual(got, []string{"intent off", "outcome off uncertain"}) || leftOff(t, dir) != "kube-node3 uncertain" || len(s.posts) != 1 {
				t.Errorf("the journal holds %q, left off %q, asked %q", got, leftOff(t, dir), s.posts)
			}
		})
	}
}

func TestAMachineThatComesBackByItselfIsSettled(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	d := s.driver(t, nil)
	if last := do(t, s, dir, d, power.ActionOff); last.Stage != power.StageDone {
		t.Fatalf("told %q", last.Text)
	}
	s.set("PowerON")
	last := do(t, s, dir, d, power.ActionOn)
	if last.Stage != power.StageDone || !strings.Contains(last.Text, "is already on") {
		t.Errorf("told %q (%s)", last.Text, last.Stage)
	}
	if got := held(t, dir); !reflect.DeepEqual(got, []string{"intent off", "outcome off done", "seen"}) || leftOff(t, dir) != "" || len(s.posts) != 1 {
		t.Errorf("the journal holds %q, left off %q, asked %q", got, leftOff(t, dir), s.posts)
	}
}

func TestAFullDiskSwitchesNothing(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, "power.jsonl")); err != nil {
		t.Fatal(err)
	}
	for _, action := range []power.Action{power.ActionOff, power.ActionShutdown} {
		last := do(t, s, dir, s.driver(t, nil), action)
		if last.Stage != power.StageFailed || !strings.Contains(last.Text, "nothing was sent") || !strings.Contains(last.Text, "no space left") {
			t.Errorf("told %q (%s)", last.Text, last.Stage)
		}
	}
	if len(s.posts) != 0 {
		t.Errorf("the portal was asked to %q", s.posts)
	}
}

func init() { power.Child = switchAndDie }

// switchAndDie is what the child of the next test runs: it switches off at the
// site of its environment and is killed as soon as it is in a given stage.
func switchAndDie() {
	d, err := mdx.New(mdx.Options{URL: os.Getenv("SITE_URL"), Token: func() (string, error) { return token, nil }})
	if err != nil {
		return
	}
	j := power.OpenJournal(os.Getenv("SITE_DIR"), power.Cluster{Name: "lab"}, "")
	f, err := power.NewFleet(quick, j, map[string]power.Driver{mdx.DriverName: d})
	if err != nil {
		return
	}
	_ = f.Unjudged(context.Background(), power.ActionOff, binding(), func(p power.Progress) {
		if string(p.Stage) == os.Getenv(power.ChildEnv) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
}

func TestKilledAtEveryStep(t *testing.T) {
	for _, c := range []struct {
		at      power.Stage
		posts   string
		journal []string
		left    string
	}{
		{power.StageSending, "", []string{"intent off"}, "kube-node3 uncertain"},
		{power.StageAccepted, "power_off", []string{"intent off"}, "kube-node3 uncertain"},
		{power.StageDone, "power_off", []string{"intent off", "outcome off done"}, "kube-node3 off"},
	} {
		t.Run(string(c.at), func(t *testing.T) {
			s, dir := newSite(t), t.TempDir()
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), power.ChildEnv+"="+string(c.at), "SITE_URL="+s.portal.URL, "SITE_DIR="+dir)
			if err := child.Run(); err == nil || child.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the child ended with %v", err)
			}
			if got := held(t, dir); !reflect.DeepEqual(got, c.journal) || leftOff(t, dir) != c.left || strings.Join(s.posts, " ") != c.posts {
				t.Errorf("the journal holds %q, the next start is told %q, the portal was asked to %q", got, leftOff(t, dir), s.posts)
			}
			// What is left off is powered on from the journal alone.
			if last := do(t, s, dir, s.driver(t, nil), power.ActionOn); last.Stage != power.StageDone || leftOff(t, dir) != "" {
				t.Errorf("powering on: told %q, left off %q", last.Text, leftOff(t, dir))
			}
		})
	}
}

// A driver that reaches nothing has sent nothing: a machine that is off later was switched off by
// somebody else.
func TestARequestThatWasNotSentIsNotARefusedOne(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t), t.TempDir()
	d := s.driver(t, nil)
	s.portal.Close()
	if last := do(t, s, dir, d, power.ActionOff); last.Stage != power.StageFailed {
		t.Fatalf("%+v", last)
	}
	if left := leftOff(t, dir); left != "" {
		t.Errorf("the journal lists %s", left)
	}
}
