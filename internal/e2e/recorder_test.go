package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
	"lightsout/internal/testenv"
	"lightsout/internal/view"

	"sigs.k8s.io/yaml"
)

// watcher is a recorder that runs beside a lab, with its hooks.
type watcher struct {
	t       *testing.T
	l       *labtest.Lab
	config  string
	state   string
	notices string // the file that the hook command writes
	cmd     *exec.Cmd
	lines   <-chan string

	mu     sync.Mutex
	posted []string // what came to the webhook
}

// recorded is a notice as the hook command gets it.
type recorded struct {
	State, Sentence, Severity, Record, Report string
	Zero                                      time.Time
}

// mayWatch gives an account without rights those that the how-to names, and no others.
func mayWatch(t *testing.T, l *labtest.Lab, more ...string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(labtest.Root(t), "docs", "clusterrole.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for doc := range strings.SplitSeq(string(b), "\n---\n") {
		var role struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
		}
		var object map[string]any
		if err := errors.Join(yaml.Unmarshal([]byte(doc), &role), yaml.Unmarshal([]byte(doc), &object)); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(append(more, "lightsout-view", "lightsout-place"), role.Metadata.Name) {
			continue
		}
		path := "/apis/rbac.authorization.k8s.io/v1/"
		if role.Kind == "Role" {
			path += "namespaces/" + role.Metadata.Namespace + "/"
		}
		path += strings.ToLower(role.Kind)
		l.API().Do(http.MethodPost, path+"s", object, nil)
		l.API().Do(http.MethodPost, path+"bindings", map[string]any{
			"metadata": map[string]string{"name": role.Metadata.Name},
			"roleRef":  map[string]string{"apiGroup": "rbac.authorization.k8s.io", "kind": role.Kind, "name": role.Metadata.Name},
			"subjects": []any{map[string]string{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "nobody"}},
		}, nil)
	}
}

// newRecorder starts a recorder on a lab, by an account that may only read.
func newRecorder(t *testing.T, l *labtest.Lab) *watcher {
	t.Helper()
	mayWatch(t, l)
	w := makeRecorder(t, l, "")
	w.start()
	return w
}

// twoRecorders starts two on a lab, each with a folder of its own, by an account that may
// use their lease. The first one leads.
func twoRecorders(t *testing.T, l *labtest.Lab) (leader, standby *watcher) {
	t.Helper()
	mayWatch(t, l, "lightsout-recorder-lease")
	leader, standby = makeRecorder(t, l, "default/lightsout-recorder"), makeRecorder(t, l, "default/lightsout-recorder")
	for _, w := range []*watcher{leader, standby} {
		w.cmd, w.lines = start(t, args(l, w.config, "recorder")...)
		w.ready(map[bool]string{true: "it holds the lease", false: "stands by"}[w == leader])
	}
	return leader, standby
}

// ready waits until the recorder sees cluster and requests and has printed a line with that
// word, and for a heartbeat after that.
func (w *watcher) ready(word string) {
	w.t.Helper()
	missing := []string{word, "requests answered", "in view"}
	for timeout := time.After(2 * time.Minute); len(missing) > 0; {
		select {
		case line := <-w.lines:
			missing = slices.DeleteFunc(missing, func(word string) bool { return strings.Contains(line, word) })
		case <-timeout:
			w.t.Fatalf("no line with %q", missing)
		}
	}
	now := time.Now()
	until(w.t, "a heartbeat after its start", func() bool { return w.renewed("k8s2").After(now) })
}

// makeRecorder makes a recorder with hooks, by an account that mayWatch has given rights.
func makeRecorder(t *testing.T, l *labtest.Lab, lease string) *watcher {
	t.Helper()
	w := &watcher{t: t, l: l, state: t.TempDir(), notices: filepath.Join(t.TempDir(), "notices")}
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.posted = append(w.posted, string(b))
	}))
	t.Cleanup(web.Close)
	hook := filepath.Join(t.TempDir(), "hook")
	testenv.Script(t, hook, "#!/bin/sh\n(cat; echo) >> "+w.notices+"\n")
	w.config = l.ConfigWith(func(c map[string]any) {
		c["state"], c["context"] = w.state, c["context"].(string)+"-nobody"
		c["recorder"] = map[string]any{
			"steady": "8s", "lease": lease, "command": []string{hook},
			"webhook": map[string]any{"url_file": write(t, "url", web.URL+"/s3cret\n")},
		}
	})
	return w
}

func (w *watcher) start() {
	w.t.Helper()
	w.cmd, w.lines = start(w.t, args(w.l, w.config, "recorder")...)
	waitLine(w.t, w.lines, "requests answered")
}

// got are the notices so far.
func (w *watcher) got() (out []recorded) {
	b, _ := os.ReadFile(w.notices) // missing before the first
	for line := range bytes.Lines(b) {
		var n recorded
		if json.Unmarshal(line, &n) == nil {
			out = append(out, n)
		}
	}
	return out
}

// await returns the newest notice of that state once so many outages have reached it.
func (w *watcher) await(state string, outages int) recorded {
	w.t.Helper()
	var found []recorded
	until(w.t, state, func() bool {
		found = slices.DeleteFunc(w.got(), func(n recorded) bool { return n.State != state })
		return len(found) >= outages
	})
	if len(found) > outages {
		w.t.Fatalf("%d outages %s, not %d: %+v", len(found), state, outages, found)
	}
	return found[outages-1]
}

// records are the summaries of the outages on the disk, the oldest first.
func (w *watcher) records() (out []*record.Summary) {
	w.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(w.state, "*", "outages", "2*"))
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		out = append(out, readSummary(w.t, dir))
	}
	return out
}

// renewed is the last heartbeat of a node as the API server has it.
func (w *watcher) renewed(node string) time.Time {
	w.t.Helper()
	var lease struct{ Spec struct{ RenewTime time.Time } }
	w.l.API().Do(http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"+node, nil, &lease)
	return lease.Spec.RenewTime
}

// until polls a condition.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(4 * time.Minute); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it took too long: %s", what)
		}
	}
}

// outage ends an outage in order and returns its summary. words must be in the last
// sentence of the hooks.
func (w *watcher) ended(number int, words ...string) *record.Summary {
	w.t.Helper()
	end := w.await("ended", number)
	for _, word := range words {
		if !strings.Contains(end.Sentence, word) {
			w.t.Errorf("outage %d: %q is not in %q", number, word, end.Sentence)
		}
	}
	all := w.records()
	if len(all) != number {
		w.t.Fatalf("%d records of %d outages", len(all), number)
	}
	if out, errs, code := run(w.t, nil, "replay", "--plain", end.Record); code != 0 || !strings.Contains(out, "sign of an outage") || !strings.Contains(out, `received the notice "began"`) {
		w.t.Errorf("replay: exit %d\n%s%s", code, out, errs)
	}
	if b, err := os.ReadFile(end.Report); err != nil || !bytes.Contains(b, []byte(words[0])) || !bytes.Contains(b, []byte("would have shortened it")) {
		w.t.Errorf("the report: %v", err)
	}
	return all[number-1]
}

// zeroIs compares the zero of an outage with a node's last heartbeat.
func (w *watcher) zeroIs(n recorded, node string) {
	w.t.Helper()
	if last := w.renewed(node); n.Zero.Sub(last).Abs() > time.Second || !strings.Contains(n.Sentence, node+" fell silent at "+n.Zero.UTC().Format("15:04:05")) {
		w.t.Errorf("the last heartbeat of %s was at %s: %+v", node, last, n)
	}
}

// plugPlan leaves the node off for more than twice the connect timeout of 3 s.
// Otherwise a request that times out counts as one that hung through the outage.
const plugPlan = `
name: plug
steps:
  - load: {rate: 1/s, background: true}
    name: clients
  - pause: 3s
  - off: {nodes: [k8s2], how: plug}
  - wait: detected
  - pause: 3s
  - on: [k8s2]
  - wait: restored
  - stop: clients
expect:
  - balanced: true
`

// TestTheRecorderRecordsNothingThatIsPlanned rolls a deployment out, drains a node and runs
// a trial. Then the plug is pulled, and the record has the same phases as the trial's.
func TestTheRecorderRecordsNothingThatIsPlanned(t *testing.T) {
	testenv.Long(t, 150)
	t.Parallel()
	l := labtest.Start(t, "vagrant")
	w := newRecorder(t, l)
	api := l.API()
	const deployment = "/apis/apps/v1/namespaces/default/deployments/nginx-webserver"
	whole := func() bool {
		var d struct {
			Metadata struct{ Generation int }
			Status   struct{ ObservedGeneration, UpdatedReplicas, AvailableReplicas, Replicas int }
		}
		api.Do(http.MethodGet, deployment, nil, &d)
		return d.Status.ObservedGeneration == d.Metadata.Generation && d.Status.UpdatedReplicas == 6 && d.Status.AvailableReplicas == 6 && d.Status.Replicas == 6
	}
	until(t, "the deployment is whole", whole)
	api.Do(http.MethodPatch, deployment, map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": map[string]string{"rolled": "out"}}}}}, nil)
	until(t, "the rollout is over", whole)

	cordon := func(on bool) {
		api.Do(http.MethodPatch, "/api/v1/nodes/k8s3", map[string]any{"spec": map[string]any{"unschedulable": on}}, nil)
	}
	cordon(true)
	var pods struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ NodeName string }
		}
	}
	api.Do(http.MethodGet, "/api/v1/namespaces/default/pods", nil, &pods)
	for _, p := range pods.Items {
		if p.Spec.NodeName == "k8s3" {
			api.Do(http.MethodPost, "/api/v1/namespaces/default/pods/"+p.Metadata.Name+"/eviction", map[string]any{
				"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]string{"name": p.Metadata.Name, "namespace": "default"},
			}, nil)
		}
	}
	until(t, "the drain is over", whole)
	cordon(false)

	dir := filepath.Join(t.TempDir(), "trial")
	config := l.ConfigWith(func(c map[string]any) { c["state"] = t.TempDir() })
	out, errs, _ := run(t, nil, args(l, config, "trial", "run", write(t, "plug.yaml", plugPlan), "--yes", "-o", dir)...)
	trial := readSummary(t, dir)
	if trial.Verdict != view.Pass {
		t.Errorf("%s %q\n%s%s", trial.Verdict, trial.Why, out, errs)
	}
	if got := w.got(); len(got) > 0 || len(w.records()) > 0 {
		t.Fatalf("recorded what was planned: %+v", got)
	}

	// The same trial, without a word to the recorder: both tell of one outage.
	until(t, "the trial is forgotten", func() bool {
		out, _, _ := run(t, nil, args(l, config, "power", "status", "k8s2")...)
		return strings.Contains(out, "Ready")
	})
	config = l.ConfigWith(func(c map[string]any) {
		c["state"], c["guards"] = t.TempDir(), map[string]any{"annotate": false}
	})
	dir = filepath.Join(t.TempDir(), "secret")
	run(t, nil, args(l, config, "trial", "run", write(t, "plug.yaml", plugPlan), "--yes", "-o", dir)...)
	sameOutage(t, readSummary(t, dir), w.ended(1, "k8s2 fell silent", "clients saw errors"))
}

// sameOutage compares the phases that a trial and the recorder saw of one outage.
func sameOutage(t *testing.T, trial, recorded *record.Summary) {
	t.Helper()
	at := func(s *record.Summary, name string) (from, to time.Time) {
		for _, p := range s.Phases {
			if p.Name == name && p.Observed != nil {
				from = s.Zero.Add(time.Duration(*p.Observed * float64(time.Second)))
				if to = from; p.From != nil {
					from = s.Zero.Add(time.Duration(*p.From * float64(time.Second)))
				}
			}
		}
		return from, to
	}
	for name, most := range map[string]time.Duration{
		view.PhaseDetected: time.Second, view.PhaseEndpointsOut: time.Second, view.PhaseTainted: time.Second, view.PhaseBooted: time.Second,
		view.PhaseReady: time.Second, view.PhaseRestored: 2 * time.Second, view.PhaseErrors: 4 * time.Second, // each sends requests of its own
	} {
		from, to := at(trial, name)
		recordedFrom, recordedTo := at(recorded, name)
		if from.IsZero() || from.Sub(recordedFrom).Abs() > most || to.Sub(recordedTo).Abs() > most {
			t.Errorf("%s: the trial saw it %s – %s, the recorder %s – %s", name, from, to, recordedFrom, recordedTo)
		}
	}
	if early := trial.Zero.Sub(recorded.Zero); early < -time.Second || early > 3*time.Second {
		t.Errorf("zero is %s before the power cut", early)
	}
}

// TestAKilledRecorderLeavesAWholeRecord kills it in an outage, and starts it again.
func TestAKilledRecorderLeavesAWholeRecord(t *testing.T) {
	testenv.Long(t, 60)
	t.Parallel()
	l := labtest.Start(t, "vagrant")
	w := newRecorder(t, l)
	l.Post("/machines/k8s2/off")
	first := w.await("began", 1)
	until(t, "the node is NotReady in the record", func() bool {
		b, _ := os.ReadFile(filepath.Join(first.Record, record.EventsFile))
		return bytes.Contains(b, []byte(`"change":"status","from":"Ready","to":"NotReady`))
	})
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = w.cmd.Wait()
	r, err := record.Open(first.Record)
	if err != nil || r.Zero.IsZero() || !r.Zero.Equal(first.Zero) || len(r.Torn) == 0 || len(r.Runs) == 0 || len(r.Samples) == 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	w.cmd, w.lines = start(t, args(w.l, w.config, "recorder")...)
	waitLine(t, w.lines, "an earlier recorder ended at", first.Record)
	if _, err := os.Stat(filepath.Join(first.Record, record.HTMLFile)); err != nil {
		t.Error(err)
	}
	if cut := w.await("ended", 1); cut.Record != first.Record || !strings.Contains(cut.Sentence, "An earlier recorder ended at") {
		t.Errorf("hooks hear of the interrupted outage: %+v", cut)
	}
	second := w.await("began", 2)
	if second.Zero.Sub(first.Zero).Abs() > time.Second {
		t.Errorf("the zero was %s, and is %s after the start", first.Zero, second.Zero)
	}
	// In an outage it ends in order, too.
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	end := w.await("ended", 2)
	for range w.lines { // until it has ended
	}
	s := readSummary(t, end.Record)
	if n := len(s.Unplanned.Unseen); n < 2 || !strings.Contains(s.Unplanned.Unseen[1], "the recorder was stopped") || !strings.Contains(s.Unplanned.Unseen[0], "the recorder started at") || !strings.Contains(end.Sentence, "k8s2 fell silent") {
		t.Errorf("%q, unseen %q", end.Sentence, s.Unplanned.Unseen)
	}
	out, errs, code := run(t, nil, args(l, w.config, "records")...)
	if code != 0 || strings.Count(out, first.Record+"\n") != 1 || !strings.Contains(out, "breaks off") || !strings.Contains(out, string(s.Unplanned.Severity)) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// TestAKilledRecorderLosesNothing kills the leader of two LIGHTSOUT_KILLS times, or 2,
// each at a random moment of an outage. Its record has everything up to the kill, and its
// next start names what is missing. The other one has the whole outage, takes over, and
// reports the end.
func TestAKilledRecorderLosesNothing(t *testing.T) {
	testenv.Long(t, 150)
	t.Parallel()
	kills := int(envNumber(t, "LIGHTSOUT_KILLS", 2))
	seed := envNumber(t, "LIGHTSOUT_SEED", uint64(time.Now().UnixNano()))
	t.Logf("%d kills, LIGHTSOUT_SEED=%d", kills, seed)
	random := rand.New(rand.NewPCG(seed, 1))
	l := labtest.Start(t, "vagrant")
	leader, standby := twoRecorders(t, l)
	for i := range kills {
		begun, taken := leader.count("began"), standby.count("")
		l.Post("/machines/k8s2/off")
		first := leader.await("began", begun+1)
		silent := leader.renewed("k8s2")
		off := random.IntN(2) == 0
		if !off {
			l.Post("/machines/k8s2/on")
		}
		time.Sleep(time.Duration(random.IntN(4000)) * time.Millisecond) // the moment is random, and nothing waits for it
		if n := standby.count(""); n != taken {
			t.Errorf("the other one reports while the leader runs: %+v", standby.got()[taken:])
		}
		if err := leader.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		killed := time.Now()
		_ = leader.cmd.Wait()
		leader.whole(first.Record, killed)
		if off {
			l.Post("/machines/k8s2/on")
		}
		standby.tookOver(silent, taken)
		leader.cmd, leader.lines = start(t, args(l, leader.config, "recorder")...)
		waitLine(t, leader.lines, "an earlier recorder ended at", first.Record, "in no record")
		leader.ready("stands by")
		ready := time.Now()
		until(t, "a heartbeat after the start", func() bool { return leader.renewed("k8s2").After(ready) })
		if t.Failed() {
			t.Fatalf("kill %d of %d, LIGHTSOUT_SEED=%d", i+1, kills, seed)
		}
		leader, standby = standby, leader
	}
}

// count counts the notices of a state, or all.
func (w *watcher) count(state string) (n int) {
	for _, x := range w.got() {
		if state == "" || x.State == state {
			n++
		}
	}
	return n
}

// tookOver expects that a recorder takes over an outage of k8s2, reports its end, and has
// all of it. before is the number of its notices at the kill.
func (w *watcher) tookOver(silent time.Time, before int) {
	w.t.Helper()
	end := w.await("ended", w.count("ended")+1)
	news := w.got()[before:]
	if news[0].State != "takeover" || !strings.Contains(news[0].Sentence, "may have reported the outage before") || news[0].Record != end.Record {
		w.t.Errorf("it reports %+v", news)
	}
	s := readSummary(w.t, end.Record)
	if s.Zero.Sub(silent).Abs() > time.Second || !s.Ledger.Balanced || len(s.Unplanned.Unseen) > 0 {
		w.t.Errorf("the last heartbeat was at %s; zero %s, ledger %+v, unseen %q", silent, s.Zero, s.Ledger, s.Unplanned.Unseen)
	}
	w.observed(s)
	w.whole(end.Record, s.Ended)
}

// observed expects the phases of a power cut that clients noticed or not.
func (w *watcher) observed(s *record.Summary) {
	w.t.Helper()
	for _, p := range s.Phases {
		if p.Observed == nil && (p.Name == view.PhaseDetected || p.Name == view.PhaseReady || p.Name == view.PhaseErrors && s.Ledger.Failed > 0) {
			w.t.Errorf("not observed: %+v", p)
		}
	}
}

// TestOneOfTwoRecordersReports has two outages: the API server's, by which nobody can renew
// the lease, and one after the leader has ended in order.
func TestOneOfTwoRecordersReports(t *testing.T) {
	testenv.Long(t, 90)
	t.Parallel()
	l := labtest.Start(t, "vagrant")
	leader, standby := twoRecorders(t, l)
	l.Post("/components/kube-apiserver/kill")
	lost := time.Now()
	leader.await("began", 1)
	until(t, "the lease has expired", func() bool { return time.Since(lost) > 20*time.Second })
	l.Post("/components/kube-apiserver/start")
	end := leader.ended(1, "The API server gave lightsout no answer for")
	waitLine(t, standby.lines, "the report is")
	if got := standby.got(); len(got) > 0 {
		t.Errorf("the other one reports %+v", got)
	}
	if kept := standby.records(); len(kept) != 1 || kept[0].Zero.Sub(end.Zero).Abs() > 2*time.Second {
		t.Errorf("the other one keeps %+v", kept)
	}
	if err := leader.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitLine(t, standby.lines, "it holds the lease")
	l.Post("/machines/k8s2/off")
	standby.zeroIs(standby.await("began", 1), "k8s2")
	l.Post("/machines/k8s2/on")
	standby.await("ended", 1)
}

// whole expects that a record goes on to the kill and has each request.
func (w *watcher) whole(dir string, killed time.Time) {
	w.t.Helper()
	r, err := record.Open(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	// A request is sent and a sample due each second.
	if gap := killed.Sub(r.End); gap > 3*time.Second || r.Zero.IsZero() {
		w.t.Errorf("%s ends %s before the kill; zero %s", dir, gap, r.Zero)
	}
	b, err := os.ReadFile(filepath.Join(dir, record.RequestsFile))
	if err != nil {
		w.t.Fatal(err)
	}
	var numbers []int
	for line := range bytes.Lines(b) {
		var q struct{ ID string }
		if json.Unmarshal(line, &q) != nil {
			continue // torn
		}
		n, err := strconv.Atoi(q.ID[strings.LastIndexByte(q.ID, '-')+1:])
		if err != nil {
			w.t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	const inFlight = 4 // at the kill: one a second, for 3 s at most
	for i, n := range numbers {
		if i > 0 && n != numbers[i-1]+1 && n <= numbers[len(numbers)-1]-inFlight {
			w.t.Errorf("%s lacks the requests after number %d, before %d of %d", dir, numbers[i-1], n, numbers[len(numbers)-1])
		}
	}
}
