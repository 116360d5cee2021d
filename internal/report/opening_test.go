package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// bare is a record of ten minutes with a request a second and six pods, in which
// nothing happened.
func bare() *record.Record {
	r := &record.Record{Start: at(0), Zero: zero, End: at(600), Summary: &record.Summary{Zero: zero}}
	for s := range 600 {
		r.Seconds = append(r.Seconds, record.Second{Second: loadgen.Second{At: at(float64(s)).Truncate(time.Second), Sent: 1, OK: 1}, Available: 6})
	}
	return r
}

// down adds a span of a node, to the end for to 0.
func down(r *record.Record, node string, kind view.SpanKind, from, to float64) {
	o := view.NodeSpan{Node: node, Kind: kind, From: at(from), To: at(to)}
	if to == 0 {
		o.To = r.End
	}
	for i := range r.Lanes {
		if r.Lanes[i].Node == node {
			r.Lanes[i].Spans = append(r.Lanes[i].Spans, o)
			return
		}
	}
	r.Lanes = append(r.Lanes, record.Lane{Node: node, Spans: []view.NodeSpan{o}})
}

// asks adds the request to take a machine down.
func asks(r *record.Record, node string, s float64, action power.Action, phase power.Stage) {
	e := view.NewEvent(view.CodePowerOperation, node, view.Facts{Action: action, Stage: phase})
	e.At, e.Seen = at(s), at(s)
	r.Events = append(r.Events, e)
}

// lose sets how many pods are available for a while.
func lose(r *record.Record, available, from, to int) {
	for i := from; i < to; i++ {
		r.Seconds[i].Available = available
	}
}

// scales sets how many pods the deployment should have from then on.
func scales(r *record.Record, s float64, replicas int) {
	key := cluster.Key{Namespace: "default", Name: "web"}
	r.Samples = append(r.Samples, record.Sample{At: at(s), Key: s == 0, Focus: &key, Cluster: &record.Cluster{At: at(s), Deployments: []*cluster.Deployment{{Key: key, Replicas: replicas}}}})
}

// counts has Kubernetes count available pods of the deployment, "5/6", from then on.
func counts(r *record.Record, s float64, from, to string) {
	r.Summary.Deployment = "default/web"
	var f view.Facts
	fmt.Sscanf(to, "%d/%d", &f.N, &f.Of)
	r.Events = append(r.Events, view.Event{At: at(s), Seen: at(s), Code: "deployment_replicas", Lane: view.LaneDeployment, Kind: "deployment",
		Namespace: "default", Subject: "web", Change: cluster.ChangeReplicas, From: from, To: to, Why: "available", Facts: f})
}

// waits adds pods of the deployment without a node from then on.
func waits(r *record.Record, s float64, names ...string) {
	c := &record.Cluster{At: at(s)}
	for _, n := range names {
		c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: n}, Phase: "Pending", Deployment: "web"})
	}
	r.Samples = append(r.Samples, record.Sample{At: at(s), Cluster: c})
}

// place gives pods of the deployment a node.
func place(r *record.Record, s float64, names ...string) {
	c := &record.Cluster{At: at(s)}
	for _, n := range names {
		c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: n}, Phase: "Running", Node: "k8s3", Deployment: "web"})
	}
	r.Samples = append(r.Samples, record.Sample{At: at(s), Cluster: c})
}

// signAPI has the recorder notice an outage of the API server, the first of the record.
func signAPI(r *record.Record, s float64) {
	e := view.NewEvent(view.CodeOutageSign, "API server", view.Facts{Sign: view.SignAPI})
	e.At = at(s)
	r.Zero, r.Summary.Zero, r.Events = at(s), at(s), append(r.Events, e)
}

// loseAPI has the API server give no answer for a while.
func loseAPI(r *record.Record, from, to float64) {
	for s, code := range map[float64]view.Code{from: view.CodeAPILost, to: view.CodeAPIAnswers} {
		e := view.NewEvent(code, "API server", view.Facts{})
		e.At, e.Seen = at(s), at(s)
		r.Events = append(r.Events, e)
	}
}

// fail has every request fail for a while, as an error window.
func fail(r *record.Record, from, to int) {
	for i := from; i < to; i++ {
		r.Seconds[i].OK, r.Seconds[i].Failed = 0, map[loadgen.Class]int{loadgen.ClassReset: 1}
	}
	r.Summary.Load = append(r.Summary.Load, record.Load{Failures: record.Failures{
		ErrorWindows: []record.Span{{From: float64(from), To: float64(to), Failed: to - from}}}})
}

func silence(r *record.Record) {
	for i := range r.Seconds {
		r.Seconds[i].Sent, r.Seconds[i].OK = 0, 0
	}
}

func TestTheReportBeginsAsAPersonWouldSayIt(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(r *record.Record)
		want    string
	}{
		"nothing": {func(*record.Record) {}, "No node went down between 08:00:00 and 08:10:00 UTC; no request failed."},
		"a node that was down before": {func(r *record.Record) {
			r.Samples = append([]record.Sample{{At: at(0), Cluster: &record.Cluster{Nodes: []*cluster.Node{{}}}}}, r.Samples...)
			down(r, "k8s2", view.SpanOff, 0, 30)
		}, "No node went down between 08:00:00 and 08:10:00 UTC; k8s2 was down before; no request failed."},
		"nothing, and no load": {silence, "No node went down between 08:00:00 and 08:10:00 UTC; no requests were sent."},
		"requests that were not sent": {func(r *record.Record) { r.Summary.Ledger.Scheduled, r.Summary.Ledger.Unsent = 100, 12 }, "No node went down between 08:00:00 and 08:10:00 UTC; no request failed." +
			" lightsout did not send 12 requests that were due: whether the service would have answered is unknown."},
		"no outage, but failures": {func(r *record.Record) {
			r.Summary = nil
			r.Runs = []loadgen.Result{{Failures: loadgen.Failures{N: 4, First: at(10), Ended: at(12)}}}
		}, "No node went down between 08:00:00 and 08:10:00 UTC; 4 requests failed between 08:00:10 and 08:00:12."},
		"two nodes fall silent": {func(r *record.Record) {
			for _, n := range []string{"kube-node4", "kube-node3"} {
				down(r, n, view.SpanSilent, 20, 300)
				down(r, n, view.SpanNotReady, 60, 300)
			}
			fail(r, 21, 68)
			lose(r, 3, 62, 320)
		}, "kube-node3 and kube-node4 fell silent at 08:00:20 UTC; clients saw errors for 47 s; 3 of 6 pods were not available until 08:05:20."},
		"all pods for a moment, one for long": {func(r *record.Record) {
			silence(r)
			down(r, "k8s2", view.SpanSilent, 21, 290)
			lose(r, 0, 60, 62)
			lose(r, 5, 62, 100)
		}, "k8s2 fell silent at 08:00:21 UTC; no requests were sent; up to 6 of 6 pods were not available, the last until 08:01:40."},
		"the driver takes its time": {func(r *record.Record) {
			silence(r)
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 50, 290)
		}, "k8s2 lost power between 08:00:20 and 08:00:50 UTC; no requests were sent; Kubernetes counted all 6 pods as available."},
		"shut down": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionShutdown, power.StageSending)
			down(r, "k8s2", view.SpanNotReady, 22, 300)
			down(r, "k8s2", view.SpanOff, 25, 290)
		}, "k8s2 was shut down at 08:00:20 UTC; no request failed; Kubernetes counted all 6 pods as available."},
		"all clients hang until lightsout ends them": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 290)
			r.Zero, r.Summary.Zero = at(20), at(20)
			r.Summary.Load = append(r.Summary.Load, record.Load{Failures: record.Failures{Hung: &loadgen.Counts{Scheduled: 16, Cancelled: 16}}})
		}, "k8s2 lost power at 08:00:20 UTC; 16 requests hung until lightsout ended them; Kubernetes counted all 6 pods as available."},
		"requests that have no end": {func(r *record.Record) {
			down(r, "k8s2", view.SpanSilent, 20, 100)
			for i := 21; i < 25; i++ {
				r.Seconds[i].OK, r.Seconds[i].Unresolved = 0, 1
			}
		}, "k8s2 fell silent at 08:00:20 UTC; 4 requests had not ended when the record did; Kubernetes counted all 6 pods as available."},
		"clients that hang from just before": {func(r *record.Record) {
			silence(r)
			down(r, "k8s2", view.SpanSilent, 20, 100)
			r.Summary.Unplanned = &record.Unplanned{Severity: record.SeverityUnknown}
			r.Summary.Load = append(r.Summary.Load, record.Load{Sent: 4, Counts: loadgen.Counts{Scheduled: 4, InFlight: 4}})
		}, "k8s2 fell silent at 08:00:20 UTC; 4 requests had not ended when the record did; Kubernetes counted all 6 pods as available."},
		"lightsout sees nothing at the end": {func(r *record.Record) {
			silence(r)
			down(r, "k8s2", view.SpanSilent, 20, 600)
			lose(r, 5, 60, 600)
			e := view.NewEvent(view.CodeAPILost, "API server", view.Facts{})
			e.At, e.Seen = at(90), at(98)
			r.Events = append(r.Events, e)
		}, "k8s2 fell silent at 08:00:20 UTC; no requests were sent; 1 of 6 pods were still not available when lightsout last saw the cluster, at 08:01:30;" +
			" k8s2 was still down when lightsout last saw the cluster, at 08:01:30. The API server gave lightsout no answer from 08:01:30 UTC until the record ended."},
		"the API server answers late once, and not at all at the end": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 90)
			loseAPI(r, 100, 102)
			e := view.NewEvent(view.CodeAPILost, "API server", view.Facts{})
			e.At, e.Seen = at(120), at(120)
			r.Events = append(r.Events, e)
		}, "k8s2 lost power at 08:00:20 UTC; no request failed; Kubernetes counted all 6 pods as available." +
			" The API server gave lightsout no answer from 08:02:00 UTC until the record ended."},
		"one pod finds no node, and none is available": {func(r *record.Record) {
			silence(r)
			down(r, "k8s2", view.SpanSilent, 20, 400)
			scales(r, 0, 6)
			lose(r, 0, 60, 390)
			lose(r, 5, 390, 405)
			waits(r, 330, "web-1")
			c := &record.Cluster{At: at(405)}
			c.GonePods = append(c.GonePods, cluster.Key{Namespace: "default", Name: "web-1"})
			r.Samples = append(r.Samples, record.Sample{At: at(405), Cluster: c})
		}, "k8s2 fell silent at 08:00:20 UTC; no requests were sent; up to 6 of 6 pods were not available, the last until 08:06:45."},
		"the plug is pulled, without load": {func(r *record.Record) {
			silence(r)
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 290)
			lose(r, 5, 60, 61)
		}, "k8s2 lost power at 08:00:20 UTC; no requests were sent; 1 of 6 pods were not available until 08:01:01."},
		"nothing was sent meanwhile": {func(r *record.Record) {
			down(r, "k8s2", view.SpanOff, 21, 50)
			for i := 15; i < 60; i++ {
				r.Seconds[i] = record.Second{Second: loadgen.Second{At: r.Seconds[i].At}, Available: -1}
			}
		}, "k8s2 was found off at 08:00:21 UTC; no requests were sent meanwhile."},
		"two outages": {func(r *record.Record) {
			for i, n := range []string{"k8s2", "k8s3"} {
				from := float64(20 + 200*i)
				asks(r, n, from, power.ActionShutdown, power.StageSending)
				down(r, n, view.SpanOff, from+2, from+90)
				lose(r, 4-i, 30+200*i, 100+200*i)
			}
			fail(r, 225, 230)
		}, "k8s2 was shut down at 08:00:20 UTC; no request failed; 2 of 6 pods were not available until 08:01:40." +
			" k8s3 was shut down at 08:03:40 UTC; clients saw errors for 5.0 s; 3 of 6 pods were not available until 08:05:00."},
		"one error window of two outages": {func(r *record.Record) {
			for i, n := range []string{"k8s3", "k8s2"} {
				from := float64(20 + 25*i)
				down(r, n, view.SpanSilent, from, from+12)
			}
			fail(r, 21, 55)
			for i := range 34 { // some of its requests are ok
				if s := 21 + i; s > 25 && s < 48 {
					r.Seconds[s].OK, r.Seconds[s].Failed = 1, nil
				}
			}
		}, "k8s3 fell silent at 08:00:20 UTC; clients saw errors for about 5 s; Kubernetes counted all 6 pods as available." +
			" k8s2 fell silent at 08:00:45 UTC; clients saw errors for about 7 s; Kubernetes counted all 6 pods as available."},
		"failures in both outages that are in no error window": {func(r *record.Record) {
			down(r, "k8s3", view.SpanSilent, 20, 32)
			down(r, "k8s2", view.SpanSilent, 45, 57)
			fail(r, 46, 48)
			r.Summary.Load = nil
		}, "k8s3 fell silent at 08:00:20 UTC; no request failed; Kubernetes counted all 6 pods as available." +
			" k8s2 fell silent at 08:00:45 UTC; 2 requests that clients sent meanwhile failed; Kubernetes counted all 6 pods as available."},
		"one outage of two kinds": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionShutdown, power.StageSending)
			down(r, "k8s2", view.SpanOff, 22, 90)
			down(r, "k8s3", view.SpanSilent, 60, 120)
			down(r, "k8s3", view.SpanNotReady, 80, 130)
		}, "k8s2 was shut down at 08:00:20 UTC and k8s3 fell silent at 08:01:00; no request failed; Kubernetes counted all 6 pods as available."},
		"an outage that has not ended": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionShutdown, power.StageSending)
			down(r, "k8s2", view.SpanOff, 22, 0)
			fail(r, 30, 600)
			lose(r, 3, 30, 600)
		}, "k8s2 was shut down at 08:00:20 UTC; clients saw errors for at least 9m30s; 3 of 6 pods were still not available when the record ended; k8s2 was still off when the record ended."},
		"some pods are back at its end": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionShutdown, power.StageSending)
			down(r, "k8s2", view.SpanOff, 22, 0)
			fail(r, 30, 600)
			lose(r, 0, 30, 300)
			lose(r, 3, 300, 600)
		}, "k8s2 was shut down at 08:00:20 UTC; clients saw errors for at least 9m30s; up to 6 of 6 pods were not available, and 3 still were not when the record ended; k8s2 was still off when the record ended."},
		"a node that is not Ready yet": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionShutdown, power.StageSending)
			down(r, "k8s2", view.SpanOff, 22, 590)
			down(r, "k8s2", view.SpanNotReady, 24, 0)
		}, "k8s2 was shut down at 08:00:20 UTC; no request failed; Kubernetes counted all 6 pods as available; k8s2 was on again, but not yet Ready, when the record ended."},
		"a node that falls silent again and again": {func(r *record.Record) {
			down(r, "k8s3", view.SpanSilent, 10, 0)
			for i := range 7 {
				down(r, "k8s2", view.SpanSilent, float64(20+30*i), float64(30+30*i))
			}
		}, "k8s3 fell silent at 08:00:10 UTC and k8s2 fell silent 7 times, first at 08:00:20; no request failed; Kubernetes counted all 6 pods as available; k8s3 was still down when the record ended."},
		"a machine that did not go": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionShutdown, power.StageSending)
			asks(r, "k8s2", 140, power.ActionShutdown, power.StageFailed)
		}, "k8s2 was asked to go off at 08:00:20 UTC, and lightsout did not see it go; no request failed; Kubernetes counted all 6 pods as available."},
		"a machine that goes once, and not at the second request": {func(r *record.Record) {
			asks(r, "k8s2", 0, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 1, 100)
			asks(r, "k8s2", 300, power.ActionOff, power.StageSending)
			fail(r, 310, 320)
		}, "k8s2 lost power at 08:00:00 UTC; no request failed; Kubernetes counted all 6 pods as available." +
			" k8s2 was asked to go off at 08:05:00 UTC, and lightsout did not see it go; clients saw errors for 10 s; Kubernetes counted all 6 pods as available."},
		"a machine that goes once, and a second request that failed": {func(r *record.Record) {
			asks(r, "k8s2", 0, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 1, 100)
			asks(r, "k8s2", 300, power.ActionOff, power.StageSending)
			asks(r, "k8s2", 310, power.ActionOff, power.StageFailed)
		}, "k8s2 lost power at 08:00:00 UTC; no request failed; Kubernetes counted all 6 pods as available."},
		"a machine that goes at the second request only": {func(r *record.Record) {
			asks(r, "k8s2", 0, power.ActionShutdown, power.StageSending)
			asks(r, "k8s2", 300, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 301, 400)
		}, "k8s2 lost power at 08:05:00 UTC; no request failed; Kubernetes counted all 6 pods as available."},
		"a machine that goes long after a request that failed": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionShutdown, power.StageSending)
			asks(r, "k8s2", 140, power.ActionShutdown, power.StageFailed)
			down(r, "k8s2", view.SpanSilent, 400, 500)
		}, "k8s2 fell silent at 08:06:40 UTC; no request failed; Kubernetes counted all 6 pods as available."},
		"a node that nobody switches, just after somebody did": {func(r *record.Record) {
			r.Zero = at(62)
			down(r, "k8s2", view.SpanSilent, 20, 60)
			down(r, "k8s2", view.SpanSilent, 62, 100)
			e := view.NewEvent(view.CodeOutageSign, "k8s2", view.Facts{Sign: view.SignSilent})
			e.At = at(62)
			r.Events = append(r.Events, e)
		}, "k8s2 fell silent at 08:01:02 UTC; no request failed; Kubernetes counted all 6 pods as available."},
		"pods that were away between two seconds": {func(r *record.Record) {
			down(r, "k8s2", view.SpanNotReady, 20, 22)
			lose(r, 3, 21, 23)
			e := view.NewEvent(view.CodeOutageSign, "k8s2", view.Facts{Sign: view.SignNotReady})
			e.At = at(20)
			none := 0
			r.Zero, r.Events, r.Summary.LowestAvailable = at(20), append(r.Events, e), &none
		}, "k8s2 became NotReady at 08:00:20 UTC; no request failed; 6 of 6 pods were not available until 08:00:23."},
		"pods that were away for less than a second": {func(r *record.Record) {
			down(r, "k8s2", view.SpanNotReady, 20, 22)
			e := view.NewEvent(view.CodeOutageSign, "k8s2", view.Facts{Sign: view.SignNotReady})
			e.At = at(20)
			two := 4
			r.Zero, r.Events, r.Summary.LowestAvailable = at(20), append(r.Events, e), &two
		}, "k8s2 became NotReady at 08:00:20 UTC; no request failed; 2 of 6 pods were not available for a moment."},
		"pods that a rollout takes away within a second": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 90)
			three := 3
			counts(r, 25.1, "6/6", "3/6")
			counts(r, 25.4, "3/6", "6/6")
			r.Summary.LowestAvailable = &three
		}, "k8s2 lost power at 08:00:20 UTC; no request failed; 3 of 6 pods of default/web were not available until 08:00:25."},
		"pods that a rollout takes away within a second, and one for longer": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 90)
			lose(r, 5, 26, 45)
			three := 3
			counts(r, 25.1, "6/6", "3/6")
			counts(r, 25.4, "3/6", "6/6")
			counts(r, 25.6, "6/6", "5/6")
			counts(r, 45.2, "5/6", "6/6")
			r.Summary.LowestAvailable = &three
		}, "k8s2 lost power at 08:00:20 UTC; no request failed; up to 3 of 6 pods of default/web were not available, the last until 08:00:45."},
		"pods of another deployment": {func(r *record.Record) {
			down(r, "k8s2", view.SpanSilent, 20, 90)
			counts(r, 25.1, "6/6", "3/6")
			r.Events[len(r.Events)-1].Subject = "other"
		}, "k8s2 fell silent at 08:00:20 UTC; no request failed; Kubernetes counted all 6 pods of default/web as available."},
		"a rollout after the return takes pods away": {func(r *record.Record) {
			down(r, "k8s2", view.SpanSilent, 20, 90)
			five := 5
			counts(r, 200, "6/6", "5/6")
			counts(r, 201, "5/6", "6/6")
			r.Summary.LowestAvailable = &five
		}, "k8s2 fell silent at 08:00:20 UTC; no request failed; Kubernetes counted all 6 pods of default/web as available until the outage was over."},
		"a scale-down that the samples show later": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 90)
			lose(r, 2, 31, 600)
			scales(r, 0, 6)
			counts(r, 30.2, "6/6", "2/2")
			scales(r, 31.4, 2)
		}, "k8s2 lost power at 08:00:20 UTC; no request failed; Kubernetes counted all 6 pods of default/web as available." +
			" The deployment was scaled from 6 to 2 pods at 08:00:31 UTC."},
		"a scale-up during the outage": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 90)
			scales(r, 0, 6)
			scales(r, 31, 9)
			counts(r, 31, "6/6", "6/9")
			counts(r, 33, "6/9", "8/9")
			counts(r, 35, "8/9", "6/9")
			counts(r, 47, "6/9", "9/9")
			lose(r, 8, 32, 34)
			lose(r, 6, 34, 47)
			lose(r, 9, 47, 600)
		}, "k8s2 lost power at 08:00:20 UTC; no request failed; Kubernetes counted at least 6 pods of default/web as available." +
			" The deployment was scaled from 6 to 9 pods at 08:00:31 UTC, and up to 3 of them were not available, the last until 08:00:47."},
		"a scale-up and a scale-down": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 90)
			scales(r, 0, 6)
			scales(r, 31, 9)
			scales(r, 47, 6)
			counts(r, 31, "6/6", "6/9")
			counts(r, 47, "6/9", "6/6")
		}, "k8s2 lost power at 08:00:20 UTC; no request failed; Kubernetes counted at least 6 pods of default/web as available." +
			" The deployment was scaled from 6 to 9 pods at 08:00:31 UTC, and up to 3 of them were not available until it was scaled again at 08:00:47." +
			" The deployment was scaled from 9 to 6 pods at 08:00:47 UTC."},
		"a planned switch-off beside an outage": {func(r *record.Record) {
			down(r, "k8s2", view.SpanSilent, 18, 50)
			down(r, "k8s3", view.SpanSilent, 20, 40)
			sign := view.NewEvent(view.CodeOutageSign, "k8s3", view.Facts{Sign: view.SignSilent})
			planned := view.NewEvent(view.CodePlannedOff, "k8s2", view.Facts{Name: "root@vm"})
			sign.At, planned.At = at(20), at(19)
			r.Zero, r.Events = at(20), append(r.Events, planned, sign)
		}, "k8s3 fell silent at 08:00:20 UTC; no request failed; Kubernetes counted all 6 pods as available. root@vm switched k8s2 off by plan, noticed at 08:00:19 UTC."},
		"a poll finds the machine off before its last heartbeat has arrived": {func(r *record.Record) {
			down(r, "k8s2", view.SpanOff, 19.7, 50)
			sign := view.NewEvent(view.CodeOutageSign, "k8s2", view.Facts{Sign: view.SignSilent})
			sign.At = at(20)
			r.Zero, r.Events = at(20), append(r.Events, sign)
		}, "k8s2 fell silent at 08:00:20 UTC; no request failed; Kubernetes counted all 6 pods as available."},
		"the recorder began later": {func(r *record.Record) {
			down(r, "k8s2", view.SpanSilent, 20, 100)
			r.Summary.Blind = []record.Blind{{To: 45, Why: "the recorder had not begun", StoodStill: true}}
		}, "k8s2 fell silent at 08:00:20 UTC; no request is known to have failed; Kubernetes counted all 6 pods as available whenever lightsout saw them."},
		"nobody saw the pods": {func(r *record.Record) {
			down(r, "k8s2", view.SpanSilent, 20, 100)
			r.Summary.Blind = []record.Blind{{From: 22, To: 45, Why: "timeout"}}
		}, "k8s2 fell silent at 08:00:20 UTC; no request failed; Kubernetes counted all 6 pods as available whenever lightsout saw them."},
		"an outage of the API server hides that pods were away": {func(r *record.Record) {
			signAPI(r, 20)
			loseAPI(r, 20, 46)
			two := 2
			r.Summary.LowestAvailable = &two
		}, "The API server gave lightsout no answer for 26 s from 08:00:20 UTC; no request failed; at least 4 of 6 pods were not available, and lightsout cannot tell for how long."},
		"an outage of the API server hides how pods went": {func(r *record.Record) {
			signAPI(r, 20)
			loseAPI(r, 20, 46)
			lose(r, 3, 46, 60)
		}, "The API server gave lightsout no answer for 26 s from 08:00:20 UTC; no request failed; at least 3 of 6 pods were not available until 08:01:00."},
		"an outage of the API server hides how pods went, and some return": {func(r *record.Record) {
			signAPI(r, 20)
			loseAPI(r, 20, 46)
			lose(r, 3, 46, 60)
			lose(r, 5, 60, 70)
		}, "The API server gave lightsout no answer for 26 s from 08:00:20 UTC; no request failed; at least 3 of 6 pods were not available, the last until 08:01:10."},
		"an outage of the API server hides how pods return": {func(r *record.Record) {
			down(r, "k8s2", view.SpanNotReady, 20, 70)
			lose(r, 3, 22, 64)
			loseAPI(r, 50, 64)
		}, "k8s2 became NotReady at 08:00:20 UTC; no request failed; at least 3 of 6 pods were not available, and all were when lightsout saw them again at 08:01:04." +
			" The API server gave lightsout no answer for 14 s from 08:00:50 UTC."},
		"an outage of the API server within that of the pods": {func(r *record.Record) {
			down(r, "k8s2", view.SpanNotReady, 20, 90)
			lose(r, 3, 22, 80)
			loseAPI(r, 50, 64)
		}, "k8s2 became NotReady at 08:00:20 UTC; no request failed; 3 of 6 pods were not available until 08:01:20." +
			" The API server gave lightsout no answer for 14 s from 08:00:50 UTC."},
		"lightsout stood still while pods lost their places": {func(r *record.Record) {
			down(r, "k8s2", view.SpanSilent, 20, 100)
			scales(r, 0, 6)
			waits(r, 45, "a", "b")
			place(r, 70, "a", "b")
			r.Summary.Blind = []record.Blind{{From: 22, To: 45, Why: "lightsout itself stood still", StoodStill: true}}
		}, "k8s2 fell silent at 08:00:20 UTC; no request is known to have failed; at least 2 of 6 pods had no place until 08:01:10."},
		"lightsout stood still while pods got their places": {func(r *record.Record) {
			down(r, "k8s2", view.SpanSilent, 20, 100)
			scales(r, 0, 6)
			waits(r, 40, "a", "b")
			place(r, 75, "a", "b")
			r.Summary.Blind = []record.Blind{{From: 52, To: 75, Why: "lightsout itself stood still", StoodStill: true}}
		}, "k8s2 fell silent at 08:00:20 UTC; no request is known to have failed; at least 2 of 6 pods had no place, and all had one when lightsout saw them again at 08:01:15."},
		"nodes that could not renew their Leases while the API server was away": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 90)
			down(r, "k8s3", view.SpanSilent, 64, 72)
			down(r, "k8s1", view.SpanNotReady, 65, 71)
			loseAPI(r, 50, 64)
		}, "k8s2 lost power at 08:00:20 UTC; no request failed; Kubernetes counted all 6 pods as available whenever lightsout saw them." +
			" The API server gave lightsout no answer for 14 s from 08:00:50 UTC."},
		"a machine that was seen off while the API server was away": {func(r *record.Record) {
			down(r, "k8s3", view.SpanOff, 52, 60)
			loseAPI(r, 50, 64)
		}, "k8s3 was found off at 08:00:52 UTC; no request failed; Kubernetes counted all 6 pods as available whenever lightsout saw them." +
			" The API server gave lightsout no answer for 14 s from 08:00:50 UTC."},
		"pods without a node until the end": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 0)
			scales(r, 0, 6)
			waits(r, 30, "web-1", "web-2")
		}, "k8s2 lost power at 08:00:20 UTC; no request failed; 2 of 6 pods still had no place when the record ended; k8s2 was still off when the record ended."},
		"another deployment is chosen meanwhile": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 90)
			scales(r, 0, 6)
			other := cluster.Key{Namespace: "default", Name: "small"}
			r.Samples = append(r.Samples, record.Sample{At: at(40), Focus: &other, Cluster: &record.Cluster{At: at(40), Deployments: []*cluster.Deployment{{Key: other, Replicas: 2}}}})
		}, "k8s2 lost power at 08:00:20 UTC; no request failed; Kubernetes counted all 6 pods as available."},
		"the operator selects another deployment, and pods of the first lose their places": {func(r *record.Record) {
			r.Summary.Deployment = "default/web"
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 90)
			scales(r, 0, 6)
			other := cluster.Key{Namespace: "shop", Name: "db"}
			r.Samples = append(r.Samples, record.Sample{At: at(40), Focus: &other, Cluster: &record.Cluster{At: at(40), Deployments: []*cluster.Deployment{{Key: other, Replicas: 2}}}})
			waits(r, 45, "web-1", "web-2")
			place(r, 70, "web-1", "web-2")
		}, "k8s2 lost power at 08:00:20 UTC; no request failed; 2 of 6 pods of default/web had no place until 08:01:10."},
		"a deployment that is scaled down meanwhile": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 90)
			lose(r, 3, 30, 45)
			lose(r, 2, 45, 600)
			scales(r, 0, 6)
			scales(r, 44, 2)
		}, "k8s2 lost power at 08:00:20 UTC; no request failed; 3 of 6 pods were not available until 08:00:44." +
			" The deployment was scaled from 6 to 2 pods at 08:00:44 UTC."},
		"a deployment that somebody deletes meanwhile": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 200)
			scales(r, 0, 6)
			lose(r, 4, 40, 102)
			lose(r, -1, 102, 600)
			key := cluster.Key{Namespace: "default", Name: "web"}
			r.Samples = append(r.Samples, record.Sample{At: at(100), Cluster: &record.Cluster{At: at(100), Deployments: []*cluster.Deployment{{Key: key, Replicas: 6, Available: 4, Gone: at(100)}}}},
				record.Sample{At: at(102), Cluster: &record.Cluster{At: at(102), GoneDeployments: []cluster.Key{key}}})
		}, "k8s2 lost power at 08:00:20 UTC; no request failed; 2 of 6 pods were not available until 08:01:40." +
			" The deployment was deleted at 08:01:40 UTC."},
		"a deployment that is scaled down, and up again": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 200)
			scales(r, 0, 6)
			scales(r, 40, 2)
			scales(r, 60, 6)
		}, "k8s2 lost power at 08:00:20 UTC; no request failed." +
			" The deployment was scaled from 6 to 2 pods at 08:00:40 UTC. The deployment was scaled from 2 to 6 pods at 08:01:00 UTC."},
		"a deployment that somebody deletes and creates again": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 500)
			scales(r, 0, 6)
			lose(r, 2, 100, 400)
			lose(r, 6, 400, 600)
			key := cluster.Key{Namespace: "default", Name: "web"}
			for s, d := range map[float64]*cluster.Deployment{100: {Key: key, Replicas: 6, Available: 6, Gone: at(100)}, 101: {Key: key, Replicas: 6}} {
				r.Samples = append(r.Samples, record.Sample{At: at(s), Cluster: &record.Cluster{At: at(s), Deployments: []*cluster.Deployment{d}}})
			}
			slices.SortStableFunc(r.Samples, func(a, b record.Sample) int { return a.At.Compare(b.At) })
		}, "k8s2 lost power at 08:00:20 UTC; no request failed; 4 of 6 pods were not available until 08:06:40."},
		"a deployment that is scaled up, and is gone a moment later": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 200)
			scales(r, 0, 6)
			scales(r, 40, 9)
			lose(r, -1, 60, 600)
			r.Samples = append(r.Samples, record.Sample{At: at(60), Cluster: &record.Cluster{At: at(60), GoneDeployments: []cluster.Key{{Namespace: "default", Name: "web"}}}})
		}, "k8s2 lost power at 08:00:20 UTC; no request failed; Kubernetes counted at least 6 pods as available." +
			" The deployment was scaled from 6 to 9 pods at 08:00:40 UTC, and up to 3 of them were not available, the last until 08:01:00." +
			" The deployment was deleted at 08:01:00 UTC."},
		"requests that failed before": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 90)
			fail(r, 5, 15)
			r.Summary.Load = nil
			fail(r, 21, 68)
		}, "k8s2 lost power at 08:00:20 UTC; clients saw errors for 47 s (10 of the 20 requests before had failed too); Kubernetes counted all 6 pods as available."},
		"requests that were in flight": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 21, 90)
			fail(r, 15, 19)
			for i := range r.Seconds { // they failed when the machine was off
				if x := &r.Seconds[i]; x.At.Before(r.Seconds[0].At.Add(20 * time.Second)) {
					x.Later = x.Failed
				}
			}
			r.Summary.Load = nil
			fail(r, 21, 68)
		}, "k8s2 lost power at 08:00:20 UTC; clients saw errors for 47 s; Kubernetes counted all 6 pods as available."},
		"a node that does not return from a planned switch-off": {func(r *record.Record) {
			down(r, "k8s2", view.SpanSilent, 20, 0)
			planned := view.NewEvent(view.CodePlannedOff, "k8s2", view.Facts{Name: "root@vm"})
			sign := view.NewEvent(view.CodeOutageSign, "k8s2", view.Facts{Sign: view.SignNotBack})
			planned.At, sign.At = at(22), at(60)
			r.Zero, r.Events = at(60), append(r.Events, planned, sign)
		}, "k8s2 was due back from a planned switch-off at 08:01:00 UTC; no request failed; Kubernetes counted all 6 pods as available; k8s2 was still down when the record ended." +
			" root@vm switched k8s2 off by plan, noticed at 08:00:22 UTC."},
		"many nodes": {func(r *record.Record) {
			for _, n := range strings.Fields("a b c d e f") {
				down(r, n, view.SpanSilent, 20, 100)
			}
		}, "a, b, c, d and 2 more nodes fell silent at 08:00:20 UTC; no request failed; Kubernetes counted all 6 pods as available."},
		"many outages": {func(r *record.Record) {
			for i := range 5 {
				down(r, "a", view.SpanOff, float64(20+50*i), float64(40+50*i))
			}
			silence(r)
		}, "a was found off at 08:00:20 UTC; no requests were sent; Kubernetes counted all 6 pods as available." +
			" a was found off at 08:01:10 UTC; no requests were sent; Kubernetes counted all 6 pods as available." +
			" a was found off at 08:02:00 UTC; no requests were sent; Kubernetes counted all 6 pods as available. 2 more outages of a followed: see the timeline."},
		"requests in flight at the first outage fail in the second": {func(r *record.Record) {
			down(r, "a", view.SpanOff, 0, 20)
			down(r, "a", view.SpanOff, 60, 80)
			r.Zero = at(0)
			r.Summary.Zero = at(0)
			r.Summary.Load = append(r.Summary.Load, record.Load{
				Failures: record.Failures{AtZero: &loadgen.Counts{Scheduled: 2, Failed: 2}, ErrorWindows: []record.Span{{From: 0, To: 66, Failed: 2}}}})
		}, "a was found off at 08:00:00 UTC; clients saw errors for 66 s; Kubernetes counted all 6 pods as available." +
			" a was found off at 08:01:00 UTC; no request failed; Kubernetes counted all 6 pods as available."},
		"a node deleted before it was silent": {func(r *record.Record) {
			r.Summary.Unplanned = &record.Unplanned{}
			r.Zero, r.Summary.Zero = at(20), at(20)
			sign := view.NewEvent(view.CodeOutageSign, "b", view.Facts{Sign: view.SignSilent})
			sign.At, sign.Seen = at(20), at(23)
			gone := view.Event{Code: view.CodeNodeNode, Subject: "b", Cause: cluster.CauseDeleted}
			gone.At, gone.Seen = at(21), at(21)
			r.Events = append(r.Events, gone, sign)
		}, "b was deleted after its last heartbeat at 08:00:20 UTC; no request failed; Kubernetes counted all 6 pods as available; b was still down when the record ended."},
		"broken off": {func(r *record.Record) {
			r.Summary, r.Torn = nil, []string{"there is no summary"}
			down(r, "a", view.SpanSilent, 20, 0)
		}, "a fell silent at 08:00:20 UTC; no request is known to have failed; Kubernetes counted all 6 pods as available; a was still down when the record ended." +
			" The record breaks off at 08:10:00 UTC: what happened later is unknown, and so is how the requests in flight ended."},
		"an empty record": {func(r *record.Record) { *r = record.Record{} }, "The record is empty: what happened is unknown."},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare()
			c.happens(r)
			if got := strings.Join(opening(r), " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// The record of a killed program has no summary, and so no blind spans: the timeline has them.
func TestPodsThatNobodySawAreNotCounted(t *testing.T) {
	const whenever = " whenever lightsout saw them"
	for name, tc := range map[string]struct {
		from, to float64 // when the API server did not answer; to is 0 if it did not answer again
		unseen   bool
	}{
		"to the end":        {3, 0, true},
		"for a while":       {30, 50, true},
		"before the outage": {-30, -10, false},
		"after the outage":  {200, 230, false},
	} {
		for _, recording := range []bool{false, true} {
			r := bare()
			asks(r, "k8s2", 0, power.ActionOff, power.StageSending)
			down(r, "k8s2", view.SpanOff, 1, 100)
			loseAPI(r, tc.from, tc.to)
			if tc.to == 0 {
				r.Events = slices.DeleteFunc(r.Events, func(e view.Event) bool { return e.Code == view.CodeAPIAnswers })
			}
			r.Summary, r.Recording = nil, recording
			if !recording {
				r.Torn = []string{"summary.json is missing"}
			}
			said := strings.Join(opening(r), " ")
			if !strings.Contains(said, "counted all 6 pods as available") || strings.Contains(said, whenever) != tc.unseen {
				t.Errorf("no answer %s, recording %t: %q", name, recording, said)
			}
		}
	}
}

func TestTheExamplesBeginAsAPersonWouldSayIt(t *testing.T) {
	for name, want := range map[string]string{
		"mdx":     "kube-node3 and kube-node4 were shut down at 22:46:24 UTC; of 12 requests 8 were served at once and 4 queued; no request failed; 8 of 16 pods of default/llm-jp-31-13b-00001-deployment had no place until 22:47:02.",
		"vagrant": "k8s2 was shut down at 22:50:59 UTC; clients saw errors for 5.5 s; 3 of 6 pods of default/nginx-webserver were not available until 22:51:26.",
	} {
		if got := strings.Join(opening(example(t, name)), " "); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// A record that breaks off says what it knows at every moment, and no more.
func TestARecordThatBreaksOffAnywhere(t *testing.T) {
	whole := example(t, "mdx")
	for s := 1; s < 75; s += 7 {
		r := *whole
		r.Summary, r.Torn, r.End = nil, []string{"there is no summary"}, whole.Start.Add(time.Duration(s)*time.Second)
		var x []record.Sample
		for _, sample := range whole.Samples {
			if !sample.At.After(r.End) {
				x = append(x, sample)
			}
		}
		r.Samples = x
		var lanes []record.Lane
		for _, l := range whole.Lanes {
			cut := record.Lane{Node: l.Node}
			for _, o := range l.Spans {
				if o.From.Before(r.End) {
					o.To = earliest(o.To, r.End)
					cut.Spans = append(cut.Spans, o)
				}
			}
			lanes = append(lanes, cut)
		}
		r.Lanes = lanes
		got := strings.Join(opening(&r), " ")
		if !strings.HasSuffix(got, "and so is how the requests in flight ended.") {
			t.Errorf("after %d s: %s", s, got)
		}
		if s > 30 && s < 45 && !strings.Contains(got, "kube-node3 and kube-node4 were still off when the record ended") {
			t.Errorf("after %d s: %s", s, got)
		}
	}
}

func TestKubernetesActsForReasonsThatTheRecordHas(t *testing.T) {
	for name, c := range map[string]struct {
		r    *record.Record
		want []string
	}{
		"example vagrant": {example(t, "vagrant"), []string{
			"T+00:04.8|marks k8s2 NotReady|4.8 s after the request to shut down|no heartbeat for node-monitor-grace-period 5s, checked every node-monitor-period 500ms",
			"T+00:05.6|taints k8s2 with NoExecute|0.8 s after NotReady|one node after the other, by node-eviction-rate 2 a second",
			"T+00:26.0|begins to delete the pods on k8s2|20.4 s after the taint|tolerationSeconds of node.kubernetes.io/unreachable 20s",
			"T+00:30.8|marks k8s2 Ready|0.5 s after the boot|its kubelet reports a new state at once, else every nodeStatusUpdateFrequency 2s",
		}},
		"example mdx": {example(t, "mdx"), []string{
			"T+00:04.6|marks kube-node3, kube-node4 NotReady|4.6 s after the request to shut down|no heartbeat",
			"T+00:39.8|has all pods of default/llm-jp-31-13b-00001-deployment available|1.4 s after Ready|readiness: a pod",
		}},
		"assumed settings":  {vagrantRecord(), []string{"T+00:53.1|marks k8s2 NotReady|53.1 s after the power cut|no heartbeat for node-monitor-grace-period 50s (assumed)"}},
		"without a summary": {tornRecord(), []string{"T+00:53.1|marks k8s2 NotReady|53.1 s after the power cut|no heartbeat for node-monitor-grace-period (unknown)"}},
	} {
		var rows []string
		for _, row := range kubernetesOf(c.r).Rows {
			var cells []string
			for _, x := range row {
				cells = append(cells, x.Text)
			}
			rows = append(rows, strings.Join(cells, "|"))
		}
		all := strings.Join(rows, "\n")
		for _, w := range c.want {
			if !strings.Contains("\n"+all, "\n"+w) {
				t.Errorf("%s: no %q in\n%s", name, w, all)
			}
		}
	}
	r := vagrantRecord()
	for i := range r.Events {
		if r.Events[i].Code == view.CodeNodeStatus {
			r.Events[i].Cause = cluster.CauseShutdown
		}
	}
	r.Summary.Settings = append(r.Summary.Settings, record.Setting{Name: "shutdownGracePeriod", Value: "30s", Source: "kubelet configz"})
	if got := kubernetesOf(r).Rows[0][3].Text; got != "its kubelet reported that it shuts down: shutdownGracePeriod 30s" {
		t.Errorf("%q", got)
	}
}

func TestKubernetesDidNothingWhereNothingWasToDo(t *testing.T) {
	r := vagrantRecord()
	r.Summary.Phases = []view.Phase{
		{Name: view.PhaseEndpointsOut, Subject: "k8s2", Observed: p(0), Before: true, Note: "no endpoint on it was ready before"},
		{Name: view.PhaseDetected, Subject: "k8s2", Observed: p(53)},
		{Name: view.PhaseReplaced, Subject: "default/web", Observed: p(0), Before: true, Note: "none of its pods was on the nodes"},
		{Name: view.PhaseEvicted, Subject: "k8s2", Note: "there are no pods on k8s2"},
	}
	got := kubernetesOf(r)
	if len(got.Rows) != 1 || len(got.Items) != 1 || got.Items[0].Text != "No pod of k8s2 was evicted: there are no pods on k8s2." {
		t.Errorf("%+v, %+v", got.Rows, got.Items)
	}
}

func TestTheReportTellsTheStoryBeforeTheFigures(t *testing.T) {
	page := string(write(t, HTML, example(t, "mdx")))
	at := -1
	for _, mark := range []string{`class="opening"`, `<figure class="chart">`, `id="moments"`, `id="kubernetes"`, `id="about"`, `id="expectations"`, `id="timeline"`} {
		i := strings.Index(page, mark)
		if i <= at {
			t.Errorf("%s stands at %d, after %d", mark, i, at)
		}
		at = i
	}
}

// An outage without a node: a drain took all pods, and a node was not Ready for a moment.
func TestTheOpeningNamesWhatSomebodyDid(t *testing.T) {
	r := bare()
	first := zero.Sub(at(0)).Seconds()
	sign := view.NewEvent(view.CodeOutageSign, "load", view.Facts{Sign: view.SignRequests})
	sign.At, sign.Seen = zero, zero
	cordon := view.Event{Kind: string(cluster.KindNode), Subject: "k8s2", Change: cluster.ChangeCordon, From: "schedulable", To: "SchedulingDisabled", Seen: zero.Add(time.Second)}
	early := cordon
	early.Subject, early.Seen = "k8s3", zero.Add(-2*changedBefore)
	r.Events = append(r.Events, early, sign, cordon)
	fail(r, int(first)+1, int(first)+21)
	lose(r, 0, int(first)+1, int(first)+21)
	down(r, "k8s1", view.SpanNotReady, first+30, first+30.5)
	said := strings.Join(opening(r), "\n")
	for _, want := range []string{"Requests began to fail after", "6 of 6 pods were not available until", "Somebody cordoned k8s2 at"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
	if strings.Contains(said, "k8s1") || strings.Contains(said, "k8s3") {
		t.Error(said)
	}
}

// The record of an outage ends some minutes after it was over: the report shows when it was
// over for clients and for the nodes.
func TestTheReportShowsWhenAnOutageWasOver(t *testing.T) {
	r := bare()
	r.Summary.Unplanned, r.Summary.Ended = &record.Unplanned{Severity: record.SeverityDown}, at(600)
	fail(r, 20, 47)
	ready, late := 90.0, 95.5
	r.Summary.Phases = []view.Phase{{Name: view.PhaseReady, Subject: "a", Observed: &late}, {Name: view.PhaseReady, Subject: "b", Observed: &ready}}
	got := map[string]string{}
	for _, row := range pageOf(r).facts.Rows {
		got[row[0].Text] = row[1].Text
	}
	for name, want := range map[string]string{"the last failed request ended": "T+00:47.0", "the last node was Ready again": "T+01:35.5", "ended": ""} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

// What Kubernetes does to a node waits for what it did to that node, not to another one.
func TestAWaitCountsFromTheSameNode(t *testing.T) {
	p := func(name, node string, at float64) view.Phase {
		return view.Phase{Name: name, Subject: node, Observed: &at}
	}
	c := &causes{phases: []view.Phase{p(view.PhaseTainted, "node3", 4.5), p(view.PhaseTainted, "node4", 11.6), p(view.PhaseEvicted, "node3", 24.5)}}
	if got := c.waited(act{phase: view.PhaseEvicted, at: 24.5, subjects: []string{"node3"}, times: []float64{24.5}}, view.PhaseTainted, "the taint"); got != "20 s after the taint" && got != "20.0 s after the taint" {
		t.Errorf("got %q", got)
	}
}

// failLate has n requests of one second fail in a later one.
func failLate(r *record.Record, sent, failed, n int) {
	x := &r.Seconds[sent]
	x.Sent += n
	x.Failed, x.Later = map[loadgen.Class]int{loadgen.ClassReset: n}, map[loadgen.Class]int{loadgen.ClassReset: n}
	r.Seconds[failed].Earlier = map[loadgen.Class]int{loadgen.ClassReset: n}
}

// offTwice has k8s2 lose its power from 0 s to 60 s, and k8s3 from 130 s to 220 s.
func offTwice(r *record.Record) {
	asks(r, "k8s2", 0, power.ActionOff, power.StageSending)
	down(r, "k8s2", view.SpanOff, 1, 60)
	asks(r, "k8s3", 130, power.ActionOff, power.StageSending)
	down(r, "k8s3", view.SpanOff, 131, 220)
}

// A failure belongs to the outage in which it happened, and not to that in which its request was
// sent; requests that got no answer belong to the first outage that they met.
func TestEachOfSeveralOutagesHasItsOwnFailures(t *testing.T) {
	window := func(r *record.Record, from, to float64, n int) {
		r.Summary.Load = append(r.Summary.Load, record.Load{Failures: record.Failures{ErrorWindows: []record.Span{{From: from, To: to, Failed: n}}}})
	}
	hung := func(r *record.Record, n int) {
		r.Summary.Load = append(r.Summary.Load, record.Load{Failures: record.Failures{Hung: &loadgen.Counts{Scheduled: n, Cancelled: n}}})
	}
	for name, c := range map[string]struct {
		happens              func(r *record.Record)
		first, second, other string
	}{
		"in flight when the second began": {func(r *record.Record) {
			failLate(r, 110, 131, 2)
			window(r, 110, 131, 2)
		}, "no request failed", "clients saw errors for about 1 s", ""},
		"in flight when the second began, in no error window": {func(r *record.Record) {
			failLate(r, 110, 131, 2)
		}, "no request failed", "2 requests that were in flight failed", ""},
		"in flight and sent later, in no error window": {func(r *record.Record) {
			failLate(r, 110, 131, 2)
			fail(r, 140, 143)
			r.Summary.Load = nil
		}, "no request failed", "5 requests failed, 2 of them in flight before", ""},
		"sent in the first": {func(r *record.Record) {
			failLate(r, 50, 131, 2)
			window(r, 50, 131, 2)
		}, "2 requests that clients sent meanwhile failed in a later outage", "clients saw errors for about 1 s", ""},
		"in both, in one error window": {func(r *record.Record) {
			fail(r, 20, 31)
			failLate(r, 110, 131, 2)
			r.Summary.Load = nil
			window(r, 20, 131, 13)
		}, "clients saw errors for about 11 s", "clients saw errors for about 1 s", ""},
		"in flight at zero": {func(r *record.Record) {
			r.Zero, r.Summary.Zero = at(10), at(10)
			failLate(r, 4, 135, 2)
			window(r, 0, 125, 2)
		}, "clients saw errors for about 2m05s", "2 requests that were in flight failed", ""},
		"later failures of both": {func(r *record.Record) {
			fail(r, 20, 31)
			fail(r, 150, 153)
			r.Summary.Load = []record.Load{{Failures: record.Failures{LaterFailures: &record.Span{From: 20, To: 153, Failed: 14}}}}
		}, "11 requests failed between 08:00:20 and 08:00:31", "3 requests failed between 08:02:30 and 08:02:33", ""},
		"hung from the second on": {func(r *record.Record) {
			r.Seconds[140].Sent, r.Seconds[140].Cancelled = 5, 4
			hung(r, 4)
		}, "no request failed", "4 requests hung until lightsout ended them", ""},
		"hung, sent between the two": {func(r *record.Record) {
			r.Seconds[100].Sent, r.Seconds[100].Cancelled = 5, 4
			hung(r, 4)
		}, "no request failed", "4 requests hung until lightsout ended them", ""},
		"hung in both": {func(r *record.Record) {
			r.Seconds[20].Cancelled, r.Seconds[140].Cancelled = 1, 3
			hung(r, 4)
		}, "1 request hung until lightsout ended it", "3 requests hung until lightsout ended them", ""},
		"hung in one of the two": {func(r *record.Record) {
			r.Seconds[20].Cancelled, r.Seconds[140].Cancelled = 1, 4
			hung(r, 4)
		}, "no request is known to have failed", "no request is known to have failed", "4 requests hung until lightsout ended them; which outage caused that, if any, is unknown."},
		"without an end": {func(r *record.Record) {
			r.Seconds[100].Unresolved = 2
		}, "no request failed", "2 requests had not ended when the record did", ""},
	} {
		r := bare()
		offTwice(r)
		c.happens(r)
		all := outagesOf(r)
		if len(all) != 2 {
			t.Fatalf("%s: %d outages", name, len(all))
		}
		if first, second := clientsOf(r, all, 0), clientsOf(r, all, 1); first != c.first || second != c.second {
			t.Errorf("%s:\ngot  %s | %s\nwant %s | %s", name, first, second, c.first, c.second)
		}
		if said := opening(r); len(said) > 2 != (c.other != "") || c.other != "" && said[2] != c.other {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// A node that was asked to go off again, and did not, went down once.
func TestANodeThatDoesNotGoAgainWentDownOnce(t *testing.T) {
	r := bare()
	asks(r, "k8s2", 0, power.ActionOff, power.StageSending)
	down(r, "k8s2", view.SpanOff, 1, 100)
	asks(r, "k8s2", 300, power.ActionOff, power.StageSending)
	if items := phasesOf(r).Items; len(items) != 0 {
		t.Errorf("%+v", items)
	}
}

// An LLM's answers take 30 s. The error window counts from when the requests were sent, which is
// long after the first outage.
func TestRequestsOnTheNodeOfALaterOutageFailInThatOutage(t *testing.T) {
	offs := loadgen.PowerOffs{{Off: at(0), On: at(40)}, {Off: at(130), On: at(200)}}
	w := loadgen.NewWindow(&offs)
	r := bare()
	for s := range r.Seconds {
		w.Note(&loadgen.Record{Run: 1, Scheduled: at(float64(s)), Sent: at(float64(s)), End: at(float64(s) + 0.5), FirstByte: at(float64(s) + 0.4), Class: loadgen.ClassOK})
	}
	for range 2 {
		w.Note(&loadgen.Record{Run: 1, Scheduled: at(110), Sent: at(110), End: at(131), Class: loadgen.ClassReset})
	}
	offTwice(r)
	failLate(r, 110, 131, 2)
	r.Summary.Outages, r.Summary.Load = offs, []record.Load{{Step: "clients", Run: 1, Sent: 602, Failures: record.FailuresOf(w, r.Zero)}}
	all := outagesOf(r)
	if got := clientsOf(r, all, 0); got != "no request failed" {
		t.Errorf("in the first outage: %s", got)
	}
	if got := clientsOf(r, all, 1); got != "clients saw errors for about 1 s" {
		t.Errorf("in the second outage: %s", got)
	}
}

// Of requests that were sent before a later outage, those that fail in it were in flight; those
// that failed just before it, or long after it, were not.
func TestALaterOutageNamesTheRequestsInFlight(t *testing.T) {
	const none = "no requests were sent meanwhile"
	for failed, want := range map[int]string{36: none, 42: "2 requests that were in flight failed", 70: none} {
		r := &record.Record{Summary: &record.Summary{}}
		for s := range 80 {
			r.Seconds = append(r.Seconds, record.Second{Second: loadgen.Second{At: at(float64(s))}})
		}
		r.Seconds[5].Sent, r.Seconds[5].OK = 3, 3
		failLate(r, 25, failed, 2)
		all := []outage{{from: at(10), to: at(20)}, {from: at(40), to: at(50)}}
		if got := clientsOf(r, all, 1); got != want {
			t.Errorf("failed at %d s: got %q", failed, got)
		}
	}
}

// Requests that failed before lightsout noticed that a node was down were not "in flight": nobody
// knows when the node went down.
func TestRequestsThatFailedBeforeTheNoticeWereNotInFlight(t *testing.T) {
	const notice = " in the seconds before lightsout noticed the outage"
	for failed, want := range map[int]string{36: "2 requests failed" + notice, 42: "2 requests that were in flight failed", 30: "no requests were sent meanwhile"} {
		r := &record.Record{Summary: &record.Summary{}}
		for s := range 80 {
			r.Seconds = append(r.Seconds, record.Second{Second: loadgen.Second{At: at(float64(s))}})
		}
		r.Seconds[5].Sent, r.Seconds[5].OK = 3, 3
		failLate(r, 25, failed, 2)
		found := fallen{node: "k8s2", how: fallWentOff, from: at(40), went: at(40)}
		if got := clientsOf(r, []outage{{nodes: []fallen{found}, from: at(40), to: at(50)}}, 0); got != want {
			t.Errorf("failed at %d s: got %q", failed, got)
		}
		if failed != 36 {
			continue
		}
		failLate(r, 26, 43, 1)
		if got, want := clientsOf(r, []outage{{nodes: []fallen{found}, from: at(40), to: at(50)}}, 0), "3 requests failed, 2 of them"+notice; got != want {
			t.Errorf("got %q", got)
		}
	}
}

// The gauge counts the requests of all loads: a burst has a queue of its own only if nothing else
// can have a share in its largest values.
func TestABurstBesideOtherLoadsHasNoQueueOfItsOwn(t *testing.T) {
	started, ended, before, after := 15.0, 20.0, 3.0, 22.0
	background := record.Load{Started: &before, Ended: &after}
	for name, c := range map[string]struct {
		served, queued int
		others         []record.Load
		want           string
	}{
		"alone":                            {8, 2, nil, "of 10 requests 8 were served at once and 2 queued"},
		"after another load":               {8, 2, []record.Load{{Started: &before, Ended: &started}}, "of 10 requests 8 were served at once and 2 queued"},
		"far more than it has":             {14, 55, nil, ""},
		"two of other clients":             {8, 7, nil, ""},
		"as many as it has, beside others": {8, 2, []record.Load{background}, ""},
	} {
		burst := record.Load{Started: &started, Ended: &ended, PeakServed: c.served, PeakQueued: c.queued, Counts: loadgen.Counts{Scheduled: 10}}
		r := &record.Record{Zero: at(10), Summary: &record.Summary{Zero: at(10), Load: append(c.others, burst)}}
		if got := queuedIn(r, &outage{from: at(10), to: at(40)}); got != c.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// Without a report of the servers, the largest queue is an estimate, as the expectations have it.
func TestAnEstimatedQueueIsAnEstimate(t *testing.T) {
	started, ended := 15.0, 20.0
	for basis, want := range map[loadgen.Basis]string{
		loadgen.BasisMeasured: "of 12 requests 8 were served at once and 4 queued", loadgen.BasisPartial: "of 12 requests 8 were served at once and 4 queued",
		loadgen.BasisEstimated: "by an estimate, of 12 requests 8 were served at once and 4 queued",
	} {
		burst := record.Load{Started: &started, Ended: &ended, PeakServed: 8, PeakQueued: 4, Basis: string(basis), Counts: loadgen.Counts{Scheduled: 12}}
		r := &record.Record{Zero: at(10), Summary: &record.Summary{Zero: at(10), Load: []record.Load{burst}}}
		if got := queuedIn(r, &outage{from: at(10), to: at(40)}); got != want {
			t.Errorf("%s: got %q", basis, got)
		}
	}
}

// Without an error window, the table of the phases reports what is known of the requests: perhaps
// none was sent, or none ended.
func TestThePhasesReportWhyThereIsNoErrorWindow(t *testing.T) {
	for want, happens := range map[string]func(r *record.Record){
		"no request failed":     func(*record.Record) {},
		"no requests were sent": silence,
		"no request is known to have failed": func(r *record.Record) {
			r.Summary.Ledger.Cancelled, r.Summary.Load = 1, []record.Load{{Failures: record.Failures{Unasked: true}}}
		},
		"16 requests hung until lightsout ended them": func(r *record.Record) {
			silence(r)
			r.Summary.Load = []record.Load{{Failures: record.Failures{Hung: &loadgen.Counts{Scheduled: 16, Cancelled: 16}}}}
		},
	} {
		r := bare()
		happens(r)
		asks(r, "k8s2", 0, power.ActionOff, power.StageSending)
		down(r, "k8s2", view.SpanOff, 1, 400)
		r.Summary.Phases = []view.Phase{{Name: view.PhaseErrors, Subject: "load", Predicted: iv(0, 60)}}
		row := phasesOf(r).Rows[0]
		if got := row[len(row)-1].Text; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The grace period of a second node begins when that node goes down.
func TestAShorterGracePeriodCountsFromTheLastNode(t *testing.T) {
	c := &causes{r: &record.Record{Zero: at(0)}, fallen: []fallen{{node: "node1", from: at(0)}, {node: "node2", from: at(37)}, {node: "node3", from: at(90)}}}
	if got := c.lastFall(42.7); got != 37 {
		t.Errorf("the last node fell at %.1f s", got)
	}
}

// A redacted record of a cluster whose names are words of lightsout begins in the same way.
func TestTheOpeningOfARedactedRecord(t *testing.T) {
	r := bare()
	signAPI(r, 20)
	loseAPI(r, 20, 46)
	want := strings.Join(opening(r), " ")
	names := record.NewNames()
	names.Add(record.NameNamespace, "api", "sign", "lost", "server", "answers")
	names.Add(record.NameHost, "outage", "local")
	b, err := json.Marshal(r.Events)
	if err != nil {
		t.Fatal(err)
	}
	r.Events = nil
	if err := json.Unmarshal(names.JSON(b), &r.Events); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(opening(r), " "); got != want || !strings.Contains(got, "gave lightsout no answer") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// nodesAt adds that the record shows the cluster with that many nodes, the first of them not Ready.
func nodesAt(r *record.Record, s float64, nodes, down int) {
	c := &record.Cluster{At: at(s)}
	for i := range nodes {
		n := &cluster.Node{Name: fmt.Sprint("node", i+1), Ready: cluster.TriTrue}
		if i < down {
			n.Ready = cluster.TriFalse
		}
		c.Nodes = append(c.Nodes, n)
	}
	r.Samples = append(r.Samples, record.Sample{At: at(s), Key: true, Cluster: c})
}

// A taint that waited longer than the eviction rate explains came late because too many nodes of
// the zone were not Ready, if the record shows that they were.
func TestALateTaintHasTheReasonOfTheZone(t *testing.T) {
	const rate, zone, other = "one node after the other, by node-eviction-rate 0.1", "unhealthy-zone-threshold 0.55", "later than node-eviction-rate 0.1 a second explains"
	for name, tc := range map[string]struct {
		nodes, down int
		want        string
	}{
		"three of five nodes": {5, 3, zone}, "three of six nodes": {6, 3, other}, "all of two nodes": {2, 2, zone},
		"two of three nodes": {3, 2, other}, "no sample": {0, 0, other},
	} {
		r := bare()
		r.Summary.Settings = []record.Setting{{Name: evictionRate, Value: "0.1"}, {Name: unhealthyZone, Value: "0.55"}}
		if tc.nodes > 0 {
			nodesAt(r, 7, tc.nodes, tc.down)
		}
		for node, s := range map[string][2]float64{"node2": {5, 6}, "node3": {6, 16}, "node1": {7, 60}} {
			sees(r, view.PhaseDetected, node, s[0])
			sees(r, view.PhaseTainted, node, s[1])
		}
		c := causesOf(r)
		for node, want := range map[string]string{"node2": rate, "node3": rate, "node1": tc.want} {
			if got := c.tainted(node, 60); !strings.Contains(got, want) {
				t.Errorf("%s, %s: %q", name, node, got)
			}
		}
	}
}

// A node that boots has another taint for a moment: it is tainted once.
func TestANodeThatExchangesItsTaintIsTaintedOnce(t *testing.T) {
	r := bare()
	taint := func(s float64, from, to string) {
		r.Events = append(r.Events, view.Event{At: at(s), Seen: at(s), Lane: view.LaneTaint, Kind: "node", Subject: "k8s2", Change: cluster.ChangeTaint, From: from, To: to})
	}
	taint(30, "", unreachable+":NoExecute")
	taint(80, "", notReady+":NoExecute")
	taint(81, unreachable+":NoExecute", "")
	taint(82, notReady+":NoExecute", "")
	taint(100, "", unreachable+":NoExecute")
	gone := view.Event{Code: view.CodeNodeNode, Subject: "k8s2", Cause: cluster.CauseDeleted, At: at(120), Seen: at(120)}
	r.Events = append(r.Events, gone)
	taint(140, "", unreachable+":NoExecute") // it has joined again
	var times []float64
	for _, p := range phasesSeen(r) {
		if p.Name == view.PhaseTainted {
			times = append(times, *p.Observed)
		}
	}
	if len(times) != 3 || times[1]-times[0] != 70 || times[2]-times[1] != 40 {
		t.Errorf("tainted at %v", times)
	}
}

// Of a taint that a blind span hid, nobody knows how long it waited.
func TestATaintThatNobodySawIsNotLate(t *testing.T) {
	for name, hide := range map[string]func(r *record.Record){
		"the timeline shows it": func(r *record.Record) { r.Summary = nil },
		"the summary shows it": func(r *record.Record) {
			sees(r, view.PhaseDetected, "k8s2", 40)
			sees(r, view.PhaseTainted, "k8s2", 101)
			r.Summary.Phases[1].HiddenFrom = r.Summary.Phases[1].Observed
		},
	} {
		r := bare()
		nodesAt(r, 1, 5, 0)
		r.Samples[0].Cluster.Settings = &cluster.Settings{EvictionRate: cluster.Setting[float64]{Value: 0.1}}
		r.Summary.Settings = []record.Setting{{Name: evictionRate, Value: "0.1"}}
		loseAPI(r, 41, 101)
		r.Events = append(r.Events,
			view.Event{At: at(40), Seen: at(40), Code: view.CodeNodeStatus, Kind: "node", Subject: "k8s2", Is: cluster.HealthBad, Was: cluster.HealthGood},
			view.Event{At: at(101), Seen: at(101), Lane: view.LaneTaint, Kind: "node", Subject: "k8s2", Change: cluster.ChangeTaint, To: unreachable + ":NoExecute"})
		hide(r)
		want := "T+01:41.0 or before|taints k8s2 with NoExecute|unknown|one node after the other, by node-eviction-rate 0.1 a second"
		if got := rowsOf(kubernetesOf(r)); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in\n%s", name, want, got)
		}
	}
}

// Each taint of a node that goes down several times is judged by its own wait.
func TestEachTaintOfANodeIsJudgedByItsOwnWait(t *testing.T) {
	r := bare()
	r.Summary.Settings = []record.Setting{{Name: evictionRate, Value: "0.1"}}
	for detected, tainted := range map[float64]float64{5: 60, 300: 301} {
		sees(r, view.PhaseDetected, "n", detected)
		sees(r, view.PhaseTainted, "n", tainted)
	}
	for s, late := range map[float64]bool{60: true, 301: false} {
		got := causesOf(r).why(act{phase: view.PhaseTainted, subjects: []string{"n"}, times: []float64{s}})
		if strings.HasPrefix(got, "later than") != late {
			t.Errorf("tainted at %v s: %q", s, got)
		}
	}
}

// A node that somebody deleted may join again and fall silent later, with a sign of that or without.
func TestANodeThatJoinedAgainAndFellSilentWasDeletedBefore(t *testing.T) {
	for name, tc := range map[string]struct {
		signs []float64
		ready float64 // when it is Ready after it has joined
		want  string
	}{
		"one sign":           {[]float64{20}, 60, "b fell silent at 08:02:40 UTC"},
		"two signs":          {[]float64{20, 150}, 60, "b fell silent at 08:02:30 UTC"},
		"not Ready at first": {[]float64{20, 150}, 70, "b fell silent at 08:02:30 UTC"},
	} {
		r := bare()
		r.Summary.Unplanned = &record.Unplanned{}
		r.Zero, r.Summary.Zero = at(20), at(20)
		for s, cause := range map[float64]cluster.Cause{21: cluster.CauseDeleted, 60: ""} {
			r.Events = append(r.Events, view.Event{Code: view.CodeNodeNode, Subject: "b", Cause: cause, At: at(s), Seen: at(s)})
		}
		for _, s := range tc.signs {
			sign := view.NewEvent(view.CodeOutageSign, "b", view.Facts{Sign: view.SignSilent})
			sign.At, sign.Seen = at(s), at(s+3)
			r.Events = append(r.Events, sign)
		}
		if tc.ready > 60 {
			down(r, "b", view.SpanNotReady, 60, tc.ready)
		}
		down(r, "b", view.SpanSilent, 160, 260)
		const rest = "; no request failed; Kubernetes counted all 6 pods as available."
		want := "b was deleted after its last heartbeat at 08:00:20 UTC" + rest + " " + tc.want + rest
		if got := strings.Join(opening(r), " "); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
		if all := outagesOf(r); len(all) != 2 || !all[0].to.Equal(at(tc.ready)) || !all[1].to.Equal(at(260)) {
			t.Errorf("%s: %+v", name, all)
		}
	}
}
