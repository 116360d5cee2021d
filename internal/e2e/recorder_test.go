package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
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

const nginx = "/apis/apps/v1/namespaces/default/deployments/nginx-webserver"

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
// a trial: nothing is recorded. Then the service is scaled to nothing, which is.
func TestTheRecorderRecordsNothingThatIsPlanned(t *testing.T) {
	testenv.Long(t, 70)
	t.Parallel()
	l := labtest.Lease(t, "vagrant")
	w := newRecorder(t, l)
	api := l.API()
	whole := func() bool {
		var d struct {
			Metadata struct{ Generation int }
			Status   struct{ ObservedGeneration, UpdatedReplicas, AvailableReplicas, Replicas int }
		}
		api.Do(http.MethodGet, nginx, nil, &d)
		return d.Status.ObservedGeneration == d.Metadata.Generation && d.Status.UpdatedReplicas == 6 && d.Status.AvailableReplicas == 6 && d.Status.Replicas == 6
	}
	until(t, "the deployment is whole", whole)
	api.Do(http.MethodPatch, nginx, map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": map[string]string{"rolled": "out"}}}}}, nil)
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
	until(t, "the node takes pods again", func() bool {
		var n struct {
			Spec struct{ Taints []struct{ Key string } }
		}
		api.Do(http.MethodGet, "/api/v1/nodes/k8s3", nil, &n)
		return len(n.Spec.Taints) == 0
	})

	dir := filepath.Join(t.TempDir(), "trial")
	config := l.ConfigWith(func(c map[string]any) { c["state"] = t.TempDir() })
	out, errs, _ := run(t, nil, args(l, config, "trial", "run", write(t, "plug.yaml", plugPlan), "--yes", "--record", dir)...)
	trial := readSummary(t, dir)
	if trial.Verdict != view.Pass {
		t.Errorf("%s %q\n%s%s", trial.Verdict, trial.Why, out, errs)
	}
	if got := w.got(); len(got) > 0 || len(w.records()) > 0 {
		t.Fatalf("recorded what was planned: %+v", got)
	}

	deploymentOutage(t, w)
}

// deploymentOutage scales the service to nothing behind the recorder's back.
func deploymentOutage(t *testing.T, w *watcher) {
	scale := func(to int) {
		w.l.API().Do(http.MethodPatch, nginx, object{"spec": object{"replicas": to}}, nil)
	}
	scale(0)
	w.await("began", 1)
	scale(6)
	end := w.await("ended", 1)
	for _, words := range []string{"equests began to fail after", "requests of lightsout"} {
		if !strings.Contains(end.Sentence, words) {
			t.Errorf("%q is not in %q", words, end.Sentence)
		}
	}
	if all := w.records(); len(all) != 1 {
		t.Errorf("%d records", len(all))
	}
	if b, err := os.ReadFile(end.Report); err != nil || !bytes.Contains(b, []byte("The deployment was deleted, or scaled to 0 pods,")) {
		t.Errorf("the report: %v", err)
	}
	if out, errs, code := run(t, nil, "replay", "--plain", end.Record); code != 0 || !strings.Contains(out, "sign of an outage") {
		t.Errorf("replay: exit %d\n%s%s", code, out, errs)
	}
}

// TestAKilledRecorderLosesNothing kills the leader of two in an outage. Its record has
// everything up to the kill, and its next start names what is missing. The other one has the
// whole outage, takes over, and reports the end.
func TestAKilledRecorderLosesNothing(t *testing.T) {
	testenv.Long(t, 60)
	t.Parallel()
	l := labtest.Lease(t, "vagrant")
	leader, standby := twoRecorders(t, l)
	l.Post("/machines/k8s2/off")
	first := leader.await("began", 1)
	silent := leader.renewed("k8s2")
	until(t, "the node is NotReady in the record", func() bool {
		b, _ := os.ReadFile(filepath.Join(first.Record, record.EventsFile))
		return bytes.Contains(b, []byte(`"change":"status","from":"Ready","to":"NotReady`))
	})
	if got := standby.got(); len(got) > 0 {
		t.Errorf("the other one reports while the leader runs: %+v", got)
	}
	if err := leader.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = leader.cmd.Wait()
	leader.whole(first.Record)
	l.Post("/machines/k8s2/on")
	standby.tookOver(silent)
	leader.cmd, leader.lines = start(t, args(l, leader.config, "recorder")...)
	waitLine(t, leader.lines, "an earlier recorder ended at", first.Record, "in no record")
	out, errs, code := run(t, nil, args(l, leader.config, "records")...)
	if code != 0 || strings.Count(out, first.Record+"\n") != 1 || !strings.Contains(out, "breaks off") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// tookOver expects that a recorder takes over an outage of k8s2, reports its end, and has
// all of it.
func (w *watcher) tookOver(silent time.Time) {
	w.t.Helper()
	end := w.await("ended", 1)
	news := w.got()
	if news[0].State != "began" || news[0].Record != end.Record {
		w.t.Errorf("it reports %+v", news)
	}
	s := readSummary(w.t, end.Record)
	if s.Zero.Sub(silent).Abs() > time.Second || !s.Ledger.Balanced || len(s.Unplanned.Unseen) > 0 {
		w.t.Errorf("the last heartbeat was at %s; zero %s, ledger %+v, unseen %q", silent, s.Zero, s.Ledger, s.Unplanned.Unseen)
	}
	w.observed(s)
	w.whole(end.Record)
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

// whole expects that a record can be read and has each request.
func (w *watcher) whole(dir string) {
	w.t.Helper()
	r, err := record.Open(dir)
	if err != nil || r.Zero.IsZero() || len(r.Samples) == 0 {
		w.t.Fatalf("%v: %+v", err, r)
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
