package e2e

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

// unannounced is an outage that nobody announces.
type unannounced struct {
	name string
	// node is the one whose last heartbeat is the zero of the clock; without one it is the
	// moment at which happen begins.
	node string
	// happen causes the outage, waits for the first notice by began, and undoes it.
	happen func(w *watcher, began func())
	// words are in the last notice, report in the report.
	words, report []string
	// records is how many records the outage has; 0 is 1.
	records int
	// often: it is tested each time.
	often bool
}

const (
	service    = "/api/v1/namespaces/default/services/nginx-webserver"
	deployment = "/apis/apps/v1/namespaces/default/deployments/nginx-webserver"
	admission  = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
)

// plugged cuts the power of a node and returns it once there is a notice.
func plugged(node, how string) func(*watcher, func()) {
	return func(w *watcher, began func()) {
		w.l.Post("/machines/" + node + "/" + how)
		began()
		w.l.Post("/machines/" + node + "/on")
	}
}

// component does something to a part of the control plane until there is a notice.
func component(name, action, undo string) func(*watcher, func()) {
	return func(w *watcher, began func()) {
		w.l.Post("/components/" + name + "/" + action)
		began()
		w.l.Post("/components/" + name + "/" + undo)
	}
}

// patched changes an object until there is a notice.
func patched(path string, to, back any) func(*watcher, func()) {
	return func(w *watcher, began func()) {
		w.l.API().Do(http.MethodPatch, path, to, nil)
		began()
		w.l.API().Do(http.MethodPatch, path, back, nil)
	}
}

// silentFor waits until the last heartbeat of a node is so old.
func (w *watcher) silentFor(node string, d time.Duration) {
	w.t.Helper()
	until(w.t, node+" is silent", func() bool { return time.Since(w.renewed(node)) > d })
}

type fields = map[string]any

var unannouncedOutages = []unannounced{
	{name: "plug", node: "k8s2", happen: plugged("k8s2", "off"), words: []string{"k8s2 fell silent at"}, report: []string{"its machine went down and booted again"}},
	{name: "shutdown", node: "k8s3", words: []string{"k8s3 fell silent at"}, report: []string{"its machine went down and booted again"}, happen: func(w *watcher, began func()) {
		w.l.Post("/machines/k8s3/shutdown")
		began()
		w.silentFor("k8s3", 5*time.Second) // it has ended
		w.l.Post("/machines/k8s3/on")
	}},
	{name: "network cut", node: "k8s2", often: true, words: []string{"k8s2 fell silent at"}, report: []string{"its boot ID is the same"}, happen: func(w *watcher, began func()) {
		w.l.Post("/machines/k8s2/cut")
		began()
		w.silentFor("k8s2", 8*time.Second)
		w.l.Post("/machines/k8s2/join")
	}},
	{name: "reboot within the grace period", node: "k8s3", often: true, words: []string{"k8s3 fell silent at"}, report: []string{"its machine went down and booted again"}, happen: func(w *watcher, began func()) {
		w.l.Post("/machines/k8s3/off")
		w.l.Post("/machines/k8s3/on")
		began()
	}},
	{name: "flapping", node: "k8s3", words: []string{"k8s3 fell silent"}, happen: func(w *watcher, began func()) {
		plugged("k8s3", "off")(w, began)
		for range 2 {
			until(w.t, "k8s3 beats again", func() bool { return time.Since(w.renewed("k8s3")) < time.Second })
			w.l.Post("/machines/k8s3/off")
			w.silentFor("k8s3", 4*time.Second)
			w.l.Post("/machines/k8s3/on")
		}
	}},
	{name: "two at once", node: "k8s2", words: []string{"k8s2", "k8s3", "fell silent", "clients saw errors"}, happen: func(w *watcher, began func()) {
		w.l.Post("/machines/k8s2/off")
		w.l.Post("/machines/k8s3/off")
		began()
		w.silentFor("k8s3", 6*time.Second)
		w.l.Post("/machines/k8s2/on")
		w.l.Post("/machines/k8s3/on")
	}},
	{name: "three in sequence", node: "k8s2", words: []string{"k8s2", "k8s3", "fell silent"}, happen: func(w *watcher, began func()) {
		plugged("k8s2", "off")(w, began)
		for _, node := range []string{"k8s3", "k8s2"} {
			w.l.Post("/machines/" + node + "/off")
			w.silentFor(node, 5*time.Second)
			w.l.Post("/machines/" + node + "/on")
		}
	}},
	{name: "a node deleted while its machine is off", node: "k8s2", often: true, words: []string{"k8s2 fell silent at"}, report: []string{"its machine went down and booted again"}, happen: func(w *watcher, began func()) {
		w.l.Post("/machines/k8s2/off")
		began()
		w.silentFor("k8s2", 8*time.Second)
		w.l.API().Do(http.MethodDelete, "/api/v1/nodes/k8s2", nil, nil)
		time.Sleep(3 * time.Second) // it stays away for a while, and nothing waits for it
		w.l.Post("/machines/k8s2/on")
	}},
	{name: "a machine that dies and whose node is deleted at once", words: []string{"k8s2"}, happen: func(w *watcher, began func()) {
		w.l.Post("/machines/k8s2/off")
		w.l.API().Do(http.MethodDelete, "/api/v1/nodes/k8s2", nil, nil)
		began()
		time.Sleep(3 * time.Second) // it stays away for a while, and nothing waits for it
		w.l.Post("/machines/k8s2/on")
	}},
	{name: "plug in a rollout", node: "k8s2", words: []string{"k8s2 fell silent at"}, happen: func(w *watcher, began func()) {
		w.rollOut()
		plugged("k8s2", "off")(w, began)
	}},
	{name: "plug without a controller manager", node: "k8s2", words: []string{"k8s2 fell silent at"}, happen: func(w *watcher, began func()) {
		w.l.Post("/components/kube-controller-manager/kill")
		plugged("k8s2", "off")(w, began)
		w.l.Post("/components/kube-controller-manager/start")
	}},
	{name: "API server killed", happen: component("kube-apiserver", "kill", "start"), words: []string{"The API server gave lightsout no answer for"}},
	// When it returns, the lab's control plane may take all nodes for lost for a moment.
	{name: "API server stopped", often: true, words: []string{"The API server gave lightsout no answer for"}, happen: component("kube-apiserver", "stop", "cont")},
	{name: "etcd killed", happen: component("etcd", "kill", "start"), words: []string{"The API server gave lightsout no answer for"}},
	{name: "the control plane's machine cut off", words: []string{"API server gave lightsout no answer for", "clients saw errors"}, happen: func(w *watcher, began func()) {
		w.l.Post("/machines/k8s1/cut")
		began()
		time.Sleep(8 * time.Second) // the API server cannot be asked
		w.l.Post("/machines/k8s1/join")
	}},
	{name: "a kubelet that falls silent", node: "k8s2", words: []string{"k8s2 fell silent at", "no request failed"}, report: []string{"its boot ID is the same"}, happen: func(w *watcher, began func()) {
		w.muteKubelet("k8s2")
		began()
		w.silentFor("k8s2", 8*time.Second)
		w.l.API().Do(http.MethodDelete, admission+"ybindings/mute", nil, nil)
	}},
	{name: "scaled to 0", often: true, happen: patched(deployment, fields{"spec": fields{"replicas": 0}}, fields{"spec": fields{"replicas": 6}}),
		words: []string{"equests began to fail after", "clients saw errors"}, report: []string{"The deployment was scaled from 6 to 0 pods"}},
	{name: "the service's port changed", words: []string{"equests began to fail after", "clients saw errors"}, happen: patched(service,
		fields{"spec": fields{"ports": []any{fields{"port": 80, "targetPort": 80, "nodePort": 31515}}}},
		fields{"spec": fields{"ports": []any{fields{"port": 80, "targetPort": 80, "nodePort": 31514}}}})},
	{name: "the service's selector changed", words: []string{"clients saw errors"}, happen: patched(service,
		fields{"spec": fields{"selector": fields{"app": "nobody"}}}, fields{"spec": fields{"selector": fields{"app": "nginx-webserver"}}})},
	{name: "the workers tainted", words: []string{"clients saw errors"}, happen: func(w *watcher, began func()) {
		taint := func(taints ...any) {
			for _, node := range []string{"k8s2", "k8s3"} {
				w.l.API().Do(http.MethodPatch, "/api/v1/nodes/"+node, fields{"spec": fields{"taints": taints}}, nil)
			}
		}
		taint(fields{"key": "maintenance", "effect": "NoExecute"})
		began()
		taint()
	}},
	{name: "plug while the recorder starts", node: "k8s3", words: []string{"k8s3 fell silent at"}, happen: func(w *watcher, began func()) {
		w.stop()
		w.l.Post("/machines/k8s3/off")
		w.start()
		began()
		w.l.Post("/machines/k8s3/on")
	}},
	{name: "the recorder restarted in a plug", node: "k8s2", records: 2, words: []string{"k8s2 fell silent at"}, report: []string{"the recorder started at"}, happen: func(w *watcher, began func()) {
		w.l.Post("/machines/k8s2/off")
		began()
		w.stop()
		w.start()
		w.l.Post("/machines/k8s2/on")
	}},
	{name: "longer than a record", node: "k8s2", words: []string{"k8s2 fell silent at"}, report: []string{"k8s2 was still down when the record ended"}, happen: func(w *watcher, began func()) {
		ended := w.count("ended")
		w.l.Post("/machines/k8s2/off")
		began()
		until(w.t, "the record ends", func() bool { return w.count("ended") > ended })
		w.l.Post("/machines/k8s2/on")
	}},
}

// TestTheRecorderRecordsUnannouncedOutages lets some happen; with LIGHTSOUT_OUTAGES=20 all.
// TestTheRecorderRecordsNothingThatIsPlanned compares a record with a trial's; the simulator has
// outages in virtual time.
func TestTheRecorderRecordsUnannouncedOutages(t *testing.T) {
	testenv.Long(t, 150)
	t.Parallel()
	all := envNumber(t, "LIGHTSOUT_OUTAGES", 0) > 0
	l := labtest.Start(t, "vagrant")
	w := newRecorder(t, l)
	until(t, "the cluster is well", w.well)
	for _, o := range unannouncedOutages {
		if all || o.often {
			w.happens(o)
		}
	}
}

// happens lets an outage happen and judges its record.
func (w *watcher) happens(o unannounced) {
	t := w.t
	t.Helper()
	want := max(1, o.records)
	began, ended, records := w.count("began"), w.count("ended"), len(w.records())
	from, before := time.Now(), time.Time{}
	if o.node != "" {
		before = w.renewed(o.node)
	}
	var off time.Duration
	o.happen(w, func() {
		until(t, o.name+": a notice", func() bool { return w.count("began") > began })
		if o.node != "" {
			from = w.renewed(o.node)
		}
		zero := w.last("began").Zero
		if o.node != "" && zero.Sub(before).Abs() < zero.Sub(from).Abs() { // it is back already
			from = before
		}
		off = zero.Sub(from)
	})
	until(t, o.name+": the end", func() bool { return w.count("ended") >= ended+want })
	until(t, o.name+": the cluster is well", w.well)
	last := w.last("ended")
	t.Logf("%s: %d record(s), the zero %+.1f s, %q", o.name, len(w.records())-records, off.Seconds(), last.Sentence)
	if n := len(w.records()) - records; n != want || w.count("began")-began != want || w.count("ended")-ended != want {
		t.Errorf("%s: %d records, %d notices that it began, %d that it ended", o.name, n, w.count("began")-began, w.count("ended")-ended)
	}
	if off < -1500*time.Millisecond || off > 1500*time.Millisecond { // a heartbeat or a request a second
		t.Errorf("%s: the zero is %s off", o.name, off)
	}
	for _, word := range o.words {
		if !strings.Contains(last.Sentence, word) {
			t.Errorf("%s: %q is not in %q", o.name, word, last.Sentence)
		}
	}
	b, err := os.ReadFile(last.Report)
	for _, words := range o.report {
		if err != nil || !bytes.Contains(b, []byte(words)) {
			t.Errorf("%s: %v: %q is not in %s", o.name, err, words, last.Report)
		}
	}
}

// last returns the newest notice of a state.
func (w *watcher) last(state string) (last recorded) {
	for _, x := range w.got() {
		if x.State == state {
			last = x
		}
	}
	return last
}

// stop ends the recorder in order.
func (w *watcher) stop() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	for range w.lines { // until it has ended
	}
}

// rollOut restarts the rollout of the deployment.
func (w *watcher) rollOut() {
	w.l.API().Do(http.MethodPatch, deployment, fields{"spec": fields{"template": fields{"metadata": fields{"annotations": fields{"rolled": time.Now().String()}}}}}, nil)
}

// well reports whether all nodes beat and all pods are available.
func (w *watcher) well() bool {
	var d struct {
		Status struct{ UpdatedReplicas, AvailableReplicas, Replicas int }
	}
	var nodes struct {
		Items []struct {
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	api := w.l.API()
	if api.Try(http.MethodGet, deployment, nil, &d) != nil || api.Try(http.MethodGet, "/api/v1/nodes", nil, &nodes) != nil {
		return false
	}
	for _, n := range nodes.Items {
		for _, c := range n.Status.Conditions {
			if c.Type == "Ready" && c.Status != "True" {
				return false
			}
		}
	}
	s := d.Status
	return len(nodes.Items) == 3 && s.AvailableReplicas == 6 && s.UpdatedReplicas == 6 && s.Replicas == 6 &&
		time.Since(w.renewed("k8s2")) < 3*time.Second && time.Since(w.renewed("k8s3")) < 3*time.Second
}

// muteKubelet has the API server refuse what a node's kubelet reports; its pods serve on.
func (w *watcher) muteKubelet(node string) {
	api := w.l.API()
	api.Do(http.MethodPost, admission+"ies", fields{
		"metadata": fields{"name": "mute"},
		"spec": fields{
			"matchConstraints": fields{"resourceRules": []any{
				fields{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"UPDATE"}, "resources": []string{"nodes/status"}},
				fields{"apiGroups": []string{"coordination.k8s.io"}, "apiVersions": []string{"v1"}, "operations": []string{"UPDATE"}, "resources": []string{"leases"}},
			}},
			"validations": []any{fields{"expression": "object.metadata.name != '" + node + "' || request.userInfo.username != 'lab-machines'"}},
		},
	}, nil)
	api.Do(http.MethodPost, admission+"ybindings", fields{
		"metadata": fields{"name": "mute"}, "spec": fields{"policyName": "mute", "validationActions": []string{"Deny"}},
	}, nil)
}
