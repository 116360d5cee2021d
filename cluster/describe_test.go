package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// podJSON is a pod with what must be told of it, and what must not.
const podJSON = `{"metadata":{"name":"web-1","namespace":"shop","uid":"u1","managedFields":[{"manager":"kubelet"}],
 "labels":{"app":"web","pod-template-hash":"6c9"},"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"},
 "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"r1","controller":true}]},
"spec":{"containers":[{"name":"app","image":"registry/app:1","env":[{"name":"API_KEY","value":"hunter2"},{"name":"MODE","value":"fast"}],
 "resources":{"requests":{"memory":"1Gi","cpu":"500m"},"limits":{"cpu":"2"}}}]},
"status":{"conditions":[{"type":"Ready","status":"False","reason":"ContainersNotReady","message":"containers with\u001b[31m unready status: [app]","lastTransitionTime":"2026-03-04T10:20:30Z"}],
 "containerStatuses":[{"name":"app","ready":false,"restartCount":3,"image":"registry/app:1","imageID":"",
  "state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 40s"}},
  "lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled","finishedAt":"2026-03-04T10:20:00Z"}}}]}}`

func podAPI(t *testing.T, forbidden string) *Client {
	return clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		path, q := r.URL.Path, r.URL.Query()
		switch {
		case forbidden != "" && strings.HasSuffix(path, forbidden):
			w.WriteHeader(403)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
		case path == "/api/v1/namespaces/shop/pods" && q.Get("fieldSelector") == "metadata.name=web-1":
			fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[%s]}`, podJSON)
		case path == "/api/v1/namespaces/shop/events" && q.Get("fieldSelector") == "involvedObject.name=web-1,involvedObject.kind=Pod":
			fmt.Fprint(w, `{"kind":"EventList","apiVersion":"v1","metadata":{},"items":[
 {"metadata":{"name":"b"},"involvedObject":{"uid":"u1"},"type":"Warning","reason":"BackOff","message":"Back-off restarting","count":4,"lastTimestamp":"2026-03-04T10:21:00Z"},
 {"metadata":{"name":"a"},"involvedObject":{"uid":"u1"},"type":"Normal","reason":"Pulled","message":"pulled","lastTimestamp":"2026-03-04T10:20:00Z"},
 {"metadata":{"name":"c"},"involvedObject":{"uid":"of another pod of this name"},"reason":"Old"}]}`)
		case path == "/api/v1/namespaces/shop/pods/web-1/log":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprintf(w, "%s %s %s\n", q.Get("container"), q.Get("follow"), q.Get("tailLines"))
		case path == "/api/v1/namespaces/shop/services":
			fmt.Fprint(w, `{"kind":"ServiceList","apiVersion":"v1","metadata":{},"items":[
 {"metadata":{"name":"web"},"spec":{"type":"NodePort","selector":{"app":"web"},"ports":[{"name":"http","port":80,"nodePort":31514},{"port":53,"protocol":"UDP"}]}},
 {"metadata":{"name":"all\u001b[31m"},"spec":{"clusterIP":"None","selector":{"app":"web"}}},
 {"metadata":{"name":"other"},"spec":{"selector":{"app":"web","tier":"db"}}},
 {"metadata":{"name":"by-hand"},"spec":{}}]}`)
		case strings.HasPrefix(path, "/apis/serving.knative.dev/"):
			w.WriteHeader(404)
			fmt.Fprint(w, "404 page not found")
		default:
			fmt.Fprint(w, `{"items":[]}`)
		}
	}))
}

func TestAnObjectIsDescribed(t *testing.T) {
	c := podAPI(t, "")
	pod := Ref{KindPod, Key{"shop", "web-1"}}
	d, err := c.Describe(context.Background(), pod)
	if err != nil {
		t.Fatal(err)
	}
	if d.Owner != (Ref{KindReplicaSet, Key{"shop", "web"}}) {
		t.Errorf("its owner is %v", d.Owner)
	}
	if len(d.Conditions) != 1 || d.Conditions[0].Message != "containers with unready status: [app]" {
		t.Errorf("conditions %+v", d.Conditions)
	}
	k := d.Containers[0]
	if k.State != "waiting" || k.Reason != "CrashLoopBackOff" || k.Restarts != 3 || !strings.HasPrefix(k.Last, "OOMKilled (exit code 137) at ") ||
		k.Requests != "cpu 500m, memory 1Gi" || k.Limits != "cpu 2" {
		t.Errorf("container %+v", k)
	}
	if len(d.Events) != 2 || d.Events[0].Reason != "Pulled" || !d.Events[1].Warning || d.Events[1].Count != 4 {
		t.Errorf("events %+v", d.Events)
	}
	if want := []Service{{Key{"shop", `all\x1b[31m`}, "headless", ""}, {Key{"shop", "web"}, "NodePort", "http 80/TCP on node port 31514, 53/UDP"}}; !slices.Equal(d.Services, want) {
		t.Errorf("services %+v", d.Services)
	}
	all := strings.Join(d.YAML, "\n")
	for _, want := range []string{"apiVersion: v1\n", "kind: Pod\n", "    - name: MODE\n      value: fast\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("the YAML lacks %q:\n%s", want, all)
		}
	}
	for _, not := range []string{"managedFields", "last-applied", "hunter2"} {
		if strings.Contains(all, not) {
			t.Errorf("the YAML has %q", not)
		}
	}
	if _, err = c.Describe(context.Background(), Ref{KindPod, Key{"shop", "web-2"}}); err == nil || !strings.Contains(err.Error(), "no longer there") {
		t.Errorf("of a pod that is gone: %v", err)
	}
	if _, err = c.Describe(context.Background(), Ref{KindRevision, Key{"shop", "web"}}); err == nil || !strings.Contains(err.Error(), "the cluster has no revisions") {
		t.Errorf("of a revision where there is no Knative: %v", err)
	}
}

func TestALogIsOpened(t *testing.T) {
	o := LogOptions{Pod: Key{"shop", "web-1"}, Container: "app", Lines: 100}
	body, err := podAPI(t, "").PodLog(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if text, err := io.ReadAll(body); err != nil || string(text) != "app true 100\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestTheErrorOfAForbiddenReadNamesTheRight(t *testing.T) {
	pod := Key{"shop", "web-1"}
	if _, err := podAPI(t, "/pods").Describe(context.Background(), Ref{KindPod, pod}); err == nil || !strings.Contains(err.Error(), "needs list on pods") {
		t.Errorf("pods: %v", err)
	}
	if d, err := podAPI(t, "/events").Describe(context.Background(), Ref{KindPod, pod}); err != nil || !strings.Contains(d.EventsErr, "needs list on events") {
		t.Errorf("events: %v", err)
	}
	if d, err := podAPI(t, "/services").Describe(context.Background(), Ref{KindPod, pod}); err != nil || !strings.Contains(d.ServicesErr, "needs list on services") {
		t.Errorf("services: %v", err)
	}
	if _, err := podAPI(t, "/log").PodLog(context.Background(), LogOptions{Pod: pod}); err == nil || !strings.Contains(err.Error(), "needs get on pods/log") {
		t.Errorf("log: %v", err)
	}
}
