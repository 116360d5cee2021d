package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// signs has the recorder notice that a node is down; the first sign is the record's zero.
func signs(r *record.Record, s float64, node string, sign view.Sign) {
	if len(SignsIn(r)) == 0 {
		r.Zero, r.Summary.Zero, r.Summary.Unplanned = at(s), at(s), &record.Unplanned{}
	}
	e := view.NewEvent(view.CodeOutageSign, node, view.Facts{Sign: sign})
	e.At, e.Seen = at(s), at(s+3)
	r.Events = append(r.Events, e)
}

// off has lightsout switch a node's machine off at 20 s, until a time; 0 is the end.
func off(r *record.Record, until float64) {
	asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
	down(r, "k8s2", outage.SpanOff, 21, until)
}

// cutsTheHost has the API server and the requests get no answer, and Kubernetes delete a pod of a node that it cannot hear.
func cutsTheHost(r *record.Record) {
	web := cluster.Ref{Kind: cluster.KindDeployment, Key: cluster.Key{Namespace: "default", Name: "web"}}
	loseAPI(r, 20.5, 49)
	down(r, "k8s2", outage.SpanNotReady, 26, 49.5)
	shows(r, 1, web, "k8s2", true, 0, "web-1-a")
	sees(r, view.PhaseEndpointsOut, "k8s2", 49.4)
	counts(r, 1, "", "6/6")
	counts(r, 49.4, "6/6", "5/6")
	counts(r, 51, "5/6", "6/6")
	tells(r, 46, cluster.KindPod, "web-1-a", "TaintManagerEviction", "Marking for deletion Pod default/web-1-a")
	fail(r, 21, 50)
	r.Summary.Load[0].ErrorWindows[0] = record.Span{From: 21 - r.Zero.Sub(zero).Seconds(), To: 50 - r.Zero.Sub(zero).Seconds(), Failed: 29}
}

// hostIsCut is what the opening tells of it.
const hostIsCut = " Why requests failed for so long: the API server gave no answer then either: most likely the way to both failed, or their host." +
	" Why pods were missing: 1 pod on k8s2; deleted after tolerationSeconds 5m00s."

// hostIsAdvised is what the opening advises then.
const hostIsAdvised = " To shorten it: give requests a way that does not go through the host of the API server, and the API server more than one host."

// silentThenANode has the API server and the requests get no answer, and a node fall silent 2 s later.
func silentThenANode(r *record.Record) {
	signAPI(r, 20)
	cutsTheHost(r)
	signs(r, 22, "k8s3", view.SignSilent)
	down(r, "k8s3", outage.SpanSilent, 23, 90)
	r.Samples = append(r.Samples, record.Sample{At: at(5), Cluster: &record.Cluster{Nodes: []*cluster.Node{{Name: "k8s1", ControlPlane: true, Addresses: []string{"10.0.0.10"}}}},
		Load: &record.LoadSample{Run: &loadgen.Run{Spec: loadgen.Spec{Shape: loadgen.Hold, N: 16}, URL: "http://10.0.0.10:31514/"}}})
}

// allThere are the words for pods of which none was missing.
const allThere = "6 of 6 pods were available at the lowest"

// lowestHidden are the words for pods of which none was missing while lightsout saw the cluster.
const lowestHidden = "lightsout did not see how many of 6 pods were available at the lowest"

func TestTheOpeningTellsTheFacts(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(r *record.Record)
		want    string
	}{
		"nothing":              {func(*record.Record) {}, "No node went down between 08:00:00 and 08:10:00 UTC. No request of lightsout failed."},
		"nothing, and no load": {silence, "No node went down between 08:00:00 and 08:10:00 UTC. lightsout sent no requests meanwhile."},
		"pods without a node, until they have one": {func(r *record.Record) {
			signs(r, 20, "pods", view.SignPending)
			waits(r, 20, "web-1", "web-2")
			for _, s := range []float64{90, 140} {
				waits(r, s, "web-1", "web-2")
				for _, p := range r.Samples[len(r.Samples)-1].Cluster.Pods[:1+int(s)/140] {
					p.Node = "k8s3"
				}
			}
		}, "Pods found no node from 08:00:20 UTC, those of workloads until 08:02:20. No request of lightsout failed. " + allThere + "."},
		"pods without a node, and one has none yet": {func(r *record.Record) {
			signs(r, 20, "pods", view.SignPending)
			waits(r, 20, "web-1", "web-2")
			waits(r, 90, "web-1")
			r.Samples[len(r.Samples)-1].Cluster.Pods[0].Node = "k8s3"
		}, "Pods found no node from 08:00:20 UTC. No request of lightsout failed. " + allThere + "."},
		"requests that were not sent": {func(r *record.Record) { r.Summary.Ledger.Scheduled, r.Summary.Ledger.Unsent = 12, 12 }, "No node went down between 08:00:00 and 08:10:00 UTC. No request of lightsout is known to have failed." +
			" 12 requests of lightsout were due and not sent: whether the service would have answered is unknown, and requests.jsonl has the reasons."},
		"two nodes fall silent": {func(r *record.Record) {
			for _, n := range []string{"kube-node4", "kube-node3"} {
				down(r, n, outage.SpanSilent, 20, 300)
				down(r, n, outage.SpanNotReady, 60, 300)
			}
			fail(r, 21, 68)
			lose(r, 0, 62, 64)
			lose(r, 3, 64, 320)
		}, "kube-node3 and kube-node4 fell silent at 08:00:20 UTC, down for 4m40s (lightsout does not know why they came back). 47 of 281 requests of lightsout sent meanwhile failed, within 47 s: 47 × reset. 0 of 6 pods were available at the lowest (pods missing for 4m18s)."},
		"shut down": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionShutdown, power.StageSending)
			down(r, "k8s2", outage.SpanNotReady, 22, 300)
			down(r, "k8s2", outage.SpanOff, 25, 290)
		}, "k8s2 was shut down at 08:00:20 UTC, down for 4m40s (lightsout does not know why it came back). No request of lightsout failed. " + allThere + "."},
		"the driver takes its time": {func(r *record.Record) {
			silence(r)
			asks(r, "k8s2", 20, power.ActionOff, power.StageSending)
			down(r, "k8s2", outage.SpanOff, 50, 290)
		}, "k8s2 was switched off at 08:00:20 UTC, down for 4m30s (lightsout does not know why it came back). lightsout sent no requests meanwhile. " + allThere + "."},
		"a machine that did not go": {func(r *record.Record) { asks(r, "k8s2", 20, power.ActionShutdown, power.StageSending) },
			"k8s2 was asked to go off, and lightsout did not see it go, at 08:00:20 UTC. No request of lightsout failed. " + allThere + "."},
		"a machine that stayed on while its node was NotReady": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionShutdown, power.StageSending)
			down(r, "k8s2", outage.SpanNotReady, 30, 100)
			asks(r, "k8s2", 140, power.ActionShutdown, power.StageFailed)
		}, "k8s2 was asked to go off, and lightsout did not see it go, at 08:00:20 UTC, down for 80 s (lightsout does not know why it came back). No request of lightsout failed. " + allThere + "."},
		"a node that falls silent long after a request that failed": {func(r *record.Record) {
			asks(r, "k8s2", 20, power.ActionShutdown, power.StageSending)
			asks(r, "k8s2", 140, power.ActionShutdown, power.StageFailed)
			down(r, "k8s2", outage.SpanSilent, 400, 500)
		}, "k8s2 fell silent at 08:06:40 UTC, down for 100 s (lightsout does not know why it came back). No request of lightsout failed. " + allThere + "."},
		"clients that hang": {func(r *record.Record) {
			off(r, 290)
			r.Summary.Load = append(r.Summary.Load, record.Load{Failures: record.Failures{Hung: &loadgen.Counts{Scheduled: 17, Cancelled: 16}}})
			r.Summary.Ledger = record.Ledger{Counts: loadgen.Counts{Scheduled: 600, OK: 583, Cancelled: 17}, Balanced: true}
		}, "k8s2 was switched off at 08:00:20 UTC, down for 4m30s (lightsout does not know why it came back). No request of lightsout is known to have failed. " + allThere + "." +
			" 16 requests had hung until the load or a time limit ended."},
		"requests that have no end": {func(r *record.Record) {
			down(r, "k8s2", outage.SpanSilent, 20, 100)
			r.Summary.Ledger.Counts = loadgen.Counts{Scheduled: 600, OK: 599, InFlight: 1}
		}, "k8s2 fell silent at 08:00:20 UTC, down for 80 s (lightsout does not know why it came back). No request of lightsout failed. " + allThere + ". 1 request had neither an answer nor an error when the record ended."},
		"requests that each have an end": {func(r *record.Record) {
			off(r, 290)
			for _, url := range []string{"", "http://10.0.0.10:31514/"} {
				r.Samples = append(r.Samples, record.Sample{At: at(5), Load: &record.LoadSample{Run: &loadgen.Run{Spec: loadgen.Spec{Shape: loadgen.Hold, N: 16}, URL: url}}})
			}
			r.Summary.Load = []record.Load{{}}
			r.Summary.Ledger = record.Ledger{Counts: loadgen.Counts{Scheduled: 602, OK: 599, Failed: 1, Unsent: 2}, Balanced: true}
		}, "k8s2 was switched off at 08:00:20 UTC, down for 4m30s (lightsout does not know why it came back). No request of lightsout to http://10.0.0.10:31514/ (hold at 16) failed. " + allThere + "." +
			" The outcome of every request that lightsout sent is known, and none was lost without a trace; requests of users are not in this record."},
		"two outages": {func(r *record.Record) {
			for i, n := range []string{"k8s2", "k8s3"} {
				from := float64(20 + 200*i)
				asks(r, n, from, power.ActionShutdown, power.StageSending)
				down(r, n, outage.SpanOff, from+2, from+90)
				lose(r, 4-i, 30+200*i, 100+200*i)
			}
			fail(r, 225, 230)
		}, "k8s2 was shut down at 08:00:20 UTC, down for 90 s (lightsout does not know why it came back). No request of lightsout failed. 4 of 6 pods were available at the lowest (pods missing for 70 s). To shorten it: drain k8s2 before the shutdown: new pods then come while the node still runs." +
			" k8s3 was shut down at 08:03:40 UTC, down for 90 s (lightsout does not know why it came back). 5 of 91 requests sent meanwhile failed, within 5 s: 5 × reset. 3 of 6 pods were available at the lowest (pods missing for 70 s). To shorten it: drain k8s3 before the shutdown: new pods then come while the node still runs."},
		"pods that are all there between two nodes of one outage": {func(r *record.Record) {
			off(r, 400)
			down(r, "k8s3", outage.SpanSilent, 300, 330)
			scales(r, 0, 6)
			for s, to := range map[float64]string{25: "4/6", 46: "6/6", 305: "5/6", 316: "6/6"} {
				counts(r, s, "", to)
			}
		}, "k8s2 was switched off at 08:00:20 UTC, down for 6m20s (lightsout does not know why it came back). No request of lightsout failed. 4 of 6 pods of default/web were available at the lowest (pods missing for 32 s)."},
		"a machine that an aborted trial powers on, and one that its plan did": {func(r *record.Record) {
			silence(r)
			for i, n := range []string{"k8s2", "k8s3"} {
				asks(r, n, 20+10*float64(i), power.ActionOff, power.StageSending)
				down(r, n, outage.SpanOff, 31, 90)
			}
			asks(r, "k8s2", 70, power.ActionOn, power.StageSending)
			aborts(r, 75)
			asks(r, "k8s3", 76, power.ActionOn, power.StageSending)
		}, "k8s2 was switched off at 08:00:20 UTC, down for 70 s (lightsout asked for power-on at 08:01:10) and k8s3 was switched off at 08:00:30, down for 60 s (lightsout asked for power-on at 08:01:16, as the trial was aborted)." +
			" lightsout sent no requests meanwhile. " + allThere + "."},
		"errors that end once Services know of the lost pods": {func(r *record.Record) {
			off(r, 90)
			lose(r, 3, 26, 80)
			sees(r, view.PhaseEndpointsOut, "k8s2", 26)
			fail(r, 22, 29)
			r.Summary.Load[0].Unrecovered = true // the load ended too early
			r.Events = append(r.Events, view.NewEvent(view.CodeRequestsFail, "load", view.Facts{Class: loadgen.ClassReset, Reported: "no answer within 3s"}))
		}, "k8s2 was switched off at 08:00:20 UTC, down for 70 s (lightsout does not know why it came back). At least 7 of 71 requests of lightsout sent meanwhile failed, within at least 7 s: 7 × reset. 3 of 6 pods were available at the lowest (pods missing for 54 s)." +
			" Why requests failed for so long: Services sent requests to the lost pods until 08:00:26, as Kubernetes waits for node-monitor-grace-period (unknown), and the last of these failed 3 s later (no answer within 3s)."},
		"one outage of two kinds": {func(r *record.Record) {
			off(r, 90)
			down(r, "k8s3", outage.SpanSilent, 60, 120)
			down(r, "k8s3", outage.SpanNotReady, 80, 130)
		}, "k8s2 was switched off at 08:00:20 UTC, down for 70 s (lightsout does not know why it came back) and k8s3 fell silent at 08:01:00, down for 70 s (lightsout does not know why it came back). No request of lightsout failed. " + allThere + "."},
		"an outage that has not ended": {func(r *record.Record) {
			off(r, 0)
			fail(r, 30, 600)
			lose(r, 0, 30, 300)
			lose(r, 3, 300, 600)
		}, "k8s2 was switched off at 08:00:20 UTC, down for at least 9m40s (still off when the record ended). At least 570 of 580 requests of lightsout sent meanwhile failed, within at least 9m30s: 570 × reset. 0 of 6 pods were available at the lowest (pods missing for at least 9m30s), and 3 were missing when the record ended."},
		"a machine that is on again, whose node boots": {func(r *record.Record) {
			silence(r)
			off(r, 590)
			down(r, "k8s2", outage.SpanNotReady, 30, 0)
		}, "k8s2 was switched off at 08:00:20 UTC, down for at least 9m40s (not Ready yet when the record ended, its machine on since 08:09:50). lightsout sent no requests meanwhile. " + allThere + "."},
		"lightsout sees nothing at the end": {func(r *record.Record) {
			silence(r)
			down(r, "k8s2", outage.SpanSilent, 20, 0)
			lose(r, 5, 60, 600)
			occurs(r, 90, view.NewEvent(view.CodeAPILost, "API server", view.Facts{}))
		}, "k8s2 fell silent at 08:00:20 UTC, down for at least 70 s (still down when lightsout last saw the cluster, at 08:01:30). lightsout sent no requests meanwhile. At most 5 of 6 pods were available at the lowest, and 1 was missing when lightsout last saw the cluster, at 08:01:30. The API server gave lightsout no answer any more from 08:01:30 UTC: what the cluster did then is unknown."},
		"a sign after an earlier outage": {func(r *record.Record) {
			down(r, "k8s2", outage.SpanSilent, 20, 60)
			down(r, "k8s2", outage.SpanSilent, 62, 100)
			signs(r, 62, "k8s2", view.SignSilent)
		}, "k8s2 fell silent at 08:01:02 UTC, down for 38 s (lightsout does not know why it came back). No request of lightsout failed. " + allThere + "."},
		"an earlier outage in the past of the record": {func(r *record.Record) {
			down(r, "k8s2", outage.SpanSilent, 22, 40)
			down(r, "k8s3", outage.SpanSilent, 62, 100)
			signs(r, 20, "k8s2", view.SignSilent)
			signs(r, 60, "k8s3", view.SignSilent)
			r.Zero, r.Summary.Zero = at(60), at(60)
		}, "k8s3 fell silent at 08:01:00 UTC, down for 40 s (lightsout does not know why it came back). No request of lightsout failed. " + allThere + "."},
		"pods that are away between two seconds": {func(r *record.Record) {
			off(r, 90)
			scales(r, 0, 6)
			counts(r, 25.1, "6/6", "3/6")
			counts(r, 25.4, "3/6", "6/6")
		}, "k8s2 was switched off at 08:00:20 UTC, down for 70 s (lightsout does not know why it came back). No request of lightsout failed. 3 of 6 pods of default/web were available at the lowest (pods missing for 0.3 s)."},
		"pods of another deployment": {func(r *record.Record) {
			off(r, 90)
			scales(r, 0, 6)
			countsOf(r, "other", 25.1, "6/6", "3/6")
			counts(r, 26.1, "6/6", "5/6")
			counts(r, 30.1, "5/6", "6/6")
		}, "k8s2 was switched off at 08:00:20 UTC, down for 70 s (lightsout does not know why it came back). No request of lightsout failed. 3 of 6 pods of default/other were available at the lowest (pods missing for at least 9m34s), and 3 were missing when the record ended; 5 of 6 of default/web (4 s)."},
		"a rollout after the return": {func(r *record.Record) {
			off(r, 90)
			scales(r, 0, 6)
			counts(r, 200, "6/6", "5/6")
			counts(r, 201, "5/6", "6/6")
		}, "k8s2 was switched off at 08:00:20 UTC, down for 70 s (lightsout does not know why it came back). No request of lightsout failed. 6 of 6 pods of default/web were available at the lowest."},
		"a scale-down": {func(r *record.Record) {
			off(r, 90)
			lose(r, 3, 30, 45)
			lose(r, 2, 45, 600)
			scales(r, 0, 6)
			scales(r, 44, 2)
		}, "k8s2 was switched off at 08:00:20 UTC, down for 70 s (lightsout does not know why it came back). No request of lightsout failed. 3 of 6 pods of default/web were available at the lowest (pods missing for 14 s). The deployment was scaled from 6 to 2 pods at 08:00:44 UTC."},
		"a scale-up": {func(r *record.Record) {
			off(r, 90)
			scales(r, 0, 6)
			scales(r, 31, 9)
		}, "k8s2 was switched off at 08:00:20 UTC, down for 70 s (lightsout does not know why it came back). No request of lightsout failed. 6 of 6 pods of default/web were available at the lowest. The deployment was scaled from 6 to 9 pods at 08:00:31 UTC."},
		"a planned switch-off beside an outage": {func(r *record.Record) {
			down(r, "k8s2", outage.SpanSilent, 18, 50)
			down(r, "k8s3", outage.SpanSilent, 20, 40)
			planned := view.NewEvent(view.CodePlannedOff, "k8s2", view.Facts{Name: "root@vm"})
			planned.At, planned.Seen = at(19), at(19)
			signs(r, 20, "k8s3", view.SignSilent)
			r.Events = append(r.Events, planned)
		}, "k8s3 fell silent at 08:00:20 UTC, down for 20 s (lightsout does not know why it came back). No request of lightsout failed. " + allThere + ". By plan, k8s2 was switched off by another operator (root@vm) at 08:00:18 UTC, down for 32 s (lightsout does not know why it came back)."},
		"a machine that was off for certain comes back unasked": {func(r *record.Record) {
			off(r, 90)
			e := view.NewEvent(view.CodeMachineState, "k8s2", view.Facts{Proof: power.Proven})
			e.To, e.At, e.Seen = power.Off.String(), at(22), at(22)
			r.Events = append(r.Events, e)
		}, "k8s2 was switched off at 08:00:20 UTC, down for 70 s (another program or person powered it on). No request of lightsout failed. " + allThere + "."},
		"another operator in a trial": {func(r *record.Record) {
			off(r, 90)
			down(r, "k8s3", outage.SpanSilent, 40, 120)
			down(r, "k8s3", outage.SpanNotReady, 60, 120)
			occurs(r, 41, view.NewEvent(view.CodePlannedOff, "k8s3", view.Facts{Name: "root@vm"}))
		}, "k8s2 was switched off at 08:00:20 UTC, down for 70 s (lightsout does not know why it came back) and k8s3 was switched off by another operator (root@vm) at 08:00:40, down for 80 s (lightsout does not know why it came back). No request of lightsout failed. " + allThere + "."},
		"a node that does not return from a planned switch-off": {func(r *record.Record) {
			down(r, "k8s2", outage.SpanSilent, 20, 0)
			signs(r, 60, "k8s2", view.SignNotBack)
		}, "k8s2 was due back from a planned switch-off at 08:01:00 UTC, down for at least 9m00s (still down when the record ended). No request of lightsout failed. " + allThere + "."},
		"a node deleted before it was silent": {func(r *record.Record) {
			signs(r, 20, "b", view.SignSilent)
			down(r, "b", outage.SpanGone, 21, 0)
		}, "b was deleted after its last heartbeat at 08:00:20 UTC, down for at least 9m40s (still down when the record ended). No request of lightsout failed. " + allThere + "."},
		"the recorder began later": {func(r *record.Record) {
			down(r, "k8s2", outage.SpanSilent, 20, 100)
			r.Summary.Blind = []record.Blind{{To: 45, Why: "the recorder had not begun", StoodStill: true}}
		}, "k8s2 fell silent at 08:00:20 UTC, down for 80 s (lightsout does not know why it came back). No request of lightsout is known to have failed. " + lowestHidden + "."},
		"an outage of the API server hides how pods went": {func(r *record.Record) {
			signs(r, 20, "API server", view.SignAPI)
			loseAPI(r, 20, 46)
			lose(r, 3, 46, 60)
		}, "The API server gave lightsout no answer for 26 s from 08:00:20 UTC. No request of lightsout failed. At most 3 of 6 pods were available at the lowest."},
		"nodes that cannot renew their Leases while the API server is away": {func(r *record.Record) {
			off(r, 90)
			down(r, "k8s3", outage.SpanSilent, 64, 72)
			down(r, "k8s1", outage.SpanNotReady, 65, 71)
			loseAPI(r, 50, 64)
		}, "k8s2 was switched off at 08:00:20 UTC, down for 70 s (lightsout does not know why it came back). No request of lightsout failed. " + lowestHidden + ". The API server gave lightsout no answer for 14 s from 08:00:50 UTC: what the cluster did then is known only from what it reported afterwards."},
		"an outage without a node": {func(r *record.Record) {
			signs(r, 20, "load", view.SignRequests)
			cordon := view.Event{Kind: string(cluster.KindNode), Subject: "k8s2", Change: cluster.ChangeCordon, To: "SchedulingDisabled", At: at(21), Seen: at(21)}
			early := cordon
			early.Subject, early.At, early.Seen = "k8s3", at(-100), at(-100)
			r.Events = append(r.Events, early, cordon)
			fail(r, 21, 41)
			r.Summary.Load[0].ErrorWindows = []record.Span{{From: 1, To: 21, Failed: 20}}
			lose(r, 0, 21, 41)
			down(r, "k8s1", outage.SpanNotReady, 50, 50.5)
		}, "Requests began to fail after 08:00:20 UTC. 20 of 580 requests of lightsout sent meanwhile failed, within 20 s: 20 × reset. 0 of 6 pods were available at the lowest (pods missing for 20 s). Why requests failed for so long: no pod was available for 20 s."},
		"the host of the API server and of the requests' address is cut": {func(r *record.Record) {
			signs(r, 20, "load", view.SignRequests)
			cutsTheHost(r)
		}, "Requests began to fail after 08:00:20 UTC. 29 of 580 requests of lightsout sent meanwhile failed, within 29 s: 29 × reset. At most 5 of 6 pods of default/web were available at the lowest." + hostIsCut + hostIsAdvised},
		"the API server was silent, then a node": {silentThenANode, "The API server gave lightsout no answer for 29 s from 08:00:20 UTC: what the cluster did then is known only from what it reported afterwards. k8s3 fell silent at 08:00:22 UTC, down for 68 s (lightsout does not know why it came back). 29 of 69 requests of lightsout to http://10.0.0.10:31514/ (hold at 16) sent meanwhile failed, within 29 s. At most 5 of 6 pods of default/web were available at the lowest." +
			strings.Replace(hostIsCut, "or their host", "or their host, the control-plane node k8s1", 1) + hostIsAdvised},
		"nodes of which one booted": {func(r *record.Record) {
			for i, n := range []string{"a", "b", "c"} {
				signs(r, 20, n, view.SignSilent)
				down(r, n, outage.SpanSilent, 23, 90)
				reportsBoot(r, n, 1, n)
				reportsBoot(r, n, 95, n+[]string{"2", "2", ""}[i])
				if i < 2 {
					r.Events = append(r.Events, view.Event{Subject: n, Change: cluster.ChangeBoot, At: at(88), Seen: at(88)})
				}
			}
		}, "a and b fell silent at 08:00:20 UTC, down for 70 s (lightsout does not know why they came back; their machines went down and booted again) and c fell silent at 08:00:20, down for 70 s (lightsout does not know why it came back; its machine most likely ran on: the boot ID is the same). No request of lightsout failed. " + allThere + "."},
		"a record that goes on": {func(r *record.Record) {
			r.Recording = true
			down(r, "a", outage.SpanSilent, 20, 0)
		}, "a fell silent at 08:00:20 UTC, down for at least 9m40s (still down at 08:10:00, as the record goes on). No request of lightsout failed. " + allThere + ". lightsout is still recording: this is what it knew at 08:10:00 UTC."},
		"that host is cut in a trial that is aborted": {func(r *record.Record) {
			asks(r, "k8s1", 20, power.ActionOff, power.StageSending)
			cutsTheHost(r)
			down(r, "k8s1", outage.SpanOff, 21, 90)
			aborts(r, 75)
		}, "k8s1 was switched off at 08:00:20 UTC, down for 70 s (lightsout does not know why it came back). 29 of 71 requests of lightsout sent meanwhile failed, within 29 s: 29 × reset. At most 5 of 6 pods of default/web were available at the lowest." + hostIsCut +
			" The API server gave lightsout no answer for 29 s from 08:00:20 UTC: what the cluster did then is known only from what it reported afterwards." + hostIsAdvised},
		"requests that fail before a node does have another reason": {func(r *record.Record) {
			off(r, 90)
			sees(r, view.PhaseEndpointsOut, "k8s2", 62)
			fail(r, 5, 63)
		}, "k8s2 was switched off at 08:00:20 UTC, down for 70 s (lightsout does not know why it came back). 58 of 71 requests of lightsout sent meanwhile failed, within 58 s. " + allThere + "."},
		"requests fail again after an earlier outage": {func(r *record.Record) {
			fail(r, 5, 8)
			fail(r, 61, 65)
			signs(r, 60, "load", view.SignRequests)
			r.Summary.Load = r.Summary.Load[1:]
			r.Summary.Load[0].ErrorWindows = []record.Span{{From: 1, To: 5, Failed: 4}}
		}, "Requests began to fail after 08:01:00 UTC. 4 of 540 requests of lightsout sent meanwhile failed, within 4 s: 4 × reset. " + allThere + "."},
		"many nodes, again and again": {func(r *record.Record) {
			for _, n := range strings.Fields("a b c d e f") {
				for i := range 5 {
					down(r, n, outage.SpanSilent, float64(20+50*i), float64(40+50*i))
				}
			}
			silence(r)
		}, "a, b, c, d and 2 more nodes fell silent at 08:00:20 UTC, down for 20 s (lightsout does not know why they came back). lightsout sent no requests meanwhile. " + allThere + "." +
			" a, b, c, d and 2 more nodes fell silent at 08:01:10 UTC, down for 20 s (lightsout does not know why they came back). lightsout sent no requests meanwhile. " + allThere + "." +
			" a, b, c, d and 2 more nodes fell silent at 08:02:00 UTC, down for 20 s (lightsout does not know why they came back). lightsout sent no requests meanwhile. " + allThere + "." +
			" 2 more outages of a, b, c, d and 2 more nodes followed: see the tables."},
		"broken off": {func(r *record.Record) {
			r.Summary, r.Torn = nil, []string{"there is no summary"}
			down(r, "a", outage.SpanSilent, 20, 0)
		}, "a fell silent at 08:00:20 UTC, down for at least 9m40s (still down when the record ended). No request of lightsout is known to have failed. " + allThere + "." +
			" The record breaks off at 08:10:00 UTC: what happened later is unknown, and so is how the requests in flight ended."},
		"an empty record": {func(r *record.Record) { *r = record.Record{} }, "The record is empty: what happened is unknown."},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare()
			c.happens(r)
			if got := strings.Join(Opening(r), " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A failure belongs to the outage in which it happened, and not to that in which its request was
// sent; what failed before the first one, and no drain led to, has another cause.
func TestEachOutageHasItsOwnFailures(t *testing.T) {
	r := bare()
	fail(r, 5, 8)
	off(r, 60)
	asks(r, "k8s3", 130, power.ActionOff, power.StageSending)
	down(r, "k8s3", outage.SpanOff, 131, 220)
	x := &r.Seconds[50] // in flight through the second one
	x.Sent, x.Failed, x.Later = 3, map[loadgen.Class]int{loadgen.ClassReset: 2}, map[loadgen.Class]int{loadgen.ClassReset: 2}
	r.Seconds[131].Earlier = x.Later
	all := factsOf(r)
	r.Summary.Ledger.Counts, r.Summary.Ledger.Balanced = loadgen.Counts{Scheduled: 600, OK: 595, Failed: 5}, true
	if said := strings.Join(Opening(r), " "); !strings.Contains(said, "3 requests had failed before the outage.") {
		t.Errorf("%s", said)
	}
	if len(all) != 2 || all[0].Clients.Before != 0 || all[0].Clients.Failed != 0 || all[1].Clients.Failed != 2 {
		t.Errorf("%+v", all)
	}
}

// The requests of an outage that goes on when the record ends are those of the ledger, which begins in the middle of
// a second.
func TestAnOutageThatGoesOnHasTheRequestsOfTheLedger(t *testing.T) {
	r := bare()
	signs(r, 20, "k8s2", view.SignSilent)
	down(r, "k8s2", outage.SpanSilent, 20, 0)
	r.Summary.Ledger.Counts = loadgen.Counts{Scheduled: 581, OK: 579, Unsent: 2}
	fail(r, 5, 8)
	r.Summary.Ledger.Balanced = true
	if got, said := factsOf(r)[0].Clients.Sent, strings.Join(Opening(r), " "); got != 579 || strings.Contains(said, "before the outage") {
		t.Errorf("%d requests: %s", got, said)
	}
}

// A drain before the outage evicts pods: they lack from then on, and not from the power-off on.
func TestPodsLackFromTheDrainBeforeTheOutageOn(t *testing.T) {
	r := bare()
	scales(r, 0, 6)
	lose(r, 5, 4, 6) // and is there again
	r.Events = append(r.Events, view.Event{Subject: "k8s2", Change: cluster.ChangeCordon, To: "SchedulingDisabled", At: at(9), Seen: at(9)})
	web := cluster.Ref{Kind: cluster.KindDeployment, Key: cluster.Key{Namespace: "default", Name: "web"}}
	shows(r, 1, web, "k8s2", true, 0, "web-1-a", "web-1-b")
	shows(r, 10, web, "k8s2", false, 10, "web-1-a", "web-1-b")
	lose(r, 3, 10, 12)
	lose(r, 4, 12, 40)
	off(r, 60)
	fail(r, 12, 13)
	fail(r, 61, 62) // it had no connection at zero
	r.Seconds[61].Failed = map[loadgen.Class]int{loadgen.ClassConnectTimeout: 1}
	r.Summary.Load = []record.Load{{Failures: record.Failures{Before: 1}}}
	all := factsOf(r)
	if got := all[0].Clients.text("") + "; " + beforeOf(&all[0]); got != "no further request failed; the drain of k8s2 had begun at 08:00:09, and 2 requests had failed since" {
		t.Errorf("%s", got)
	}
	if w := all[0].Workloads; len(w) != 1 || !w[0].From.Equal(at(10).Truncate(time.Second)) || w[0].Lowest != 3 || w[0].lost() != 3 || w[0].Why != "2 pods on k8s2; evicted by the drain" {
		t.Errorf("%+v", rowsOf(podsTable(r, all)))
	}
}

// Pods that lack twice in one outage lack for the sum of both times, and the table has both.
func TestEachTimeThatPodsLackedIsInTheTable(t *testing.T) {
	r := bare()
	off(r, 400)
	down(r, "k8s3", outage.SpanSilent, 300, 330)
	scales(r, 0, 6)
	for s, to := range map[float64]string{25: "4/6", 46: "6/6", 305: "5/6", 316: "6/6"} {
		counts(r, s, "", to)
	}
	waits(r, 305.1, "web-1")
	waits(r, 305.8, "web-1") // the scheduler places it within a second
	r.Samples[len(r.Samples)-1].Cluster.Pods[0].Node = "k8s1"
	if got, want := rowsOf(podsTable(r, factsOf(r))), "T+00:20.0|default/web|4 of 6|T+00:25.0, T+05:05.0|T+00:46.0, T+05:16.0|32 s"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A record that begins while pods lack, or does not see the cluster when they go, does not claim to know since
// when they lack.
func TestPodsThatNobodySawGoLackedBefore(t *testing.T) {
	for name, happens := range map[string]func(r *record.Record){
		"the record began later": func(r *record.Record) { lose(r, -1, 0, 40) },
		"a blind span":           func(r *record.Record) { r.Summary.Blind = []record.Blind{{From: 37, To: 39.5}} },
		"it was seen":            func(*record.Record) {},
	} {
		r := bare()
		scales(r, 0, 6)
		off(r, 90)
		lose(r, 0, 40, 60)
		happens(r)
		want := "T+00:20.0|default/web|0 of 6|T+00:39.8|T+00:59.8|20 s"
		if name != "it was seen" {
			want = "T+00:20.0|default/web|0 of 6|T+00:39.8 or before|T+00:59.8|at least 20 s"
		}
		if got := rowsOf(podsTable(r, factsOf(r))); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// Failures of the second in which an outage begins belong to it; they are not said to be from before it.
func TestNoFailureOfAnOutageIsFromBeforeIt(t *testing.T) {
	r := bare()
	asks(r, "k8s2", 20.2, power.ActionOff, power.StageSending)
	down(r, "k8s2", outage.SpanOff, 21, 60)
	fail(r, 20, 22)
	c := factsOf(r)[0].Clients
	if c.Failed != 2 || !c.First.Equal(at(20.2)) {
		t.Errorf("%+v", c)
	}
}

// A recorder that began during an outage has not seen its errors begin, but has seen them end.
func TestAnErrorWindowOfWhichTheBeginningIsMissing(t *testing.T) {
	r := bare()
	down(r, "k8s2", outage.SpanSilent, 20, 100)
	fail(r, 45, 60)
	signs(r, 20, "k8s2", view.SignSilent)
	r.Summary.Blind = []record.Blind{{To: 25, Why: "the recorder had not begun", StoodStill: true}}
	if got := Opening(r)[0]; !strings.Contains(got, ". At least 15 of") || !strings.Contains(got, "failed, within at least 15 s") {
		t.Error(got)
	}
}

// A recorder that began during an outage knows when the node became NotReady, by its condition, and not
// when its machine went off or when it fell silent.
func TestANodeThatWasDownWhenTheRecorderBegan(t *testing.T) {
	for name, c := range map[string]struct {
		dated         float64
		row, notReady string
	}{
		"its condition is dated":    {26, "T+00:06.0|", "T+00:06.0 – T+00:42.0, 36 s"},
		"its condition has no date": {0, "", "T+00:28.0 or before – T+00:42.0, at least 14 s"},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare()
			signs(r, 20, "k8s2", view.SignSilent)
			down(r, "k8s2", outage.SpanOff, 48, 59)
			down(r, "k8s2", outage.SpanSilent, 48, 61)
			down(r, "k8s2", outage.SpanNotReady, 48, 62)
			spans := r.Lanes[0].Spans
			for i := range spans {
				spans[i].After = time.Time{}
			}
			if c.dated > 0 {
				spans[2].From, spans[2].After = at(c.dated), at(c.dated)
			}
			want := "k8s2|unplanned: its heartbeats stopped|T+00:00.0|" + c.row + "T+00:42.0|42 s" // without columns of dashes
			if got := rowsOf(nodesTable(r, factsOf(r))); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			drawn := picture(r, nil)
			for _, want := range []string{"off T+00:28.0 or before – T+00:39.0, at least 11 s", "silent T+00:28.0 or before – T+00:41.0, at least 13 s", "not ready " + c.notReady} {
				if !strings.Contains(drawn, "<title>"+want+"</title>") {
					t.Errorf("the picture has no %q", want)
				}
			}
		})
	}
}

// Only a node that reports the same boot ID before it went down and after shows that its machine ran on.
func TestOnlyTheSameBootIDShowsThatAMachineRanOn(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		first         float64 // when the record first shows the node
		kind          outage.SpanKind
		ran           bool
	}{
		"the same boot ID":                  {before: "one", after: "one", kind: outage.SpanSilent, ran: true},
		"its machine was off":               {before: "one", after: "one", kind: outage.SpanOff},
		"no boot ID before":                 {after: "one", kind: outage.SpanSilent},
		"no boot ID after":                  {before: "one", kind: outage.SpanSilent},
		"another boot ID, without an event": {before: "one", after: "two", kind: outage.SpanSilent},
		"first shown while it was down":     {before: "one", after: "one", first: 60, kind: outage.SpanSilent},
	} {
		r := bare()
		reportsBoot(r, "k8s2", c.first, c.before)
		reportsBoot(r, "k8s2", 150, c.after)
		down(r, "k8s2", c.kind, 21, 150)
		down(r, "k8s2", outage.SpanNotReady, 70, 150)
		if got := rowsOf(nodesTable(r, factsOf(r))); strings.Contains(got, "ran on: the boot ID is the same") != c.ran {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A machine that was off by plan is no part of an outage, and may be the reason why its pods had no room: the
// table has it, if it was off then.
func TestANodeThatWasOffByPlanIsInTheTableOfAnOutage(t *testing.T) {
	r := bare()
	signs(r, 100, "k8s3", view.SignSilent)
	down(r, "k8s1", outage.SpanSilent, 20, 60)
	down(r, "k8s2", outage.SpanSilent, 40, 130)
	down(r, "k8s3", outage.SpanSilent, 102, 115)
	for node, s := range map[string]float64{"k8s1": 21, "k8s2": 41} {
		occurs(r, s, view.NewEvent(view.CodePlannedOff, node, view.Facts{Name: "root@vm"}))
	}
	want := "k8s2|planned: switched off by another operator (root@vm)|T-01:00.0|T-01:00.0|90 s\nk8s3|unplanned: its heartbeats stopped|T+00:00.0|T+00:02.0|15 s"
	if got := rowsOf(nodesTable(r, factsOf(r))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A silence of the API server is told once, from its last answer on, and first where it is why requests failed.
func TestTheSilenceOfTheAPIServerHasOneBeginning(t *testing.T) {
	r := bare()
	silentThenANode(r)
	sign := &r.Events[0]
	sign.At = at(16)
	if got, want := apiLost(r), (interval{at(16), at(49)}); len(got) != 1 || got[0] != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got := pageOf(r).Title; got != "outage of the API server and k8s3, 21 November 2026 08:00 UTC" {
		t.Error(got)
	}
}

func TestTheOpeningOfARedactedRecord(t *testing.T) {
	r := bare()
	signAPI(r, 20)
	loseAPI(r, 20, 46)
	want := strings.Join(Opening(r), " ")
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
	if got := strings.Join(Opening(r), " "); got != want || !strings.Contains(got, "gave lightsout no answer") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Somebody deletes the object of a node that is down: the table has the time.
func TestTheTableOfNodesHasTheDeletionOfAnObject(t *testing.T) {
	r := bare()
	signs(r, 20, "k8s2", view.SignSilent)
	down(r, "k8s2", outage.SpanSilent, 23, 90)
	down(r, "k8s2", outage.SpanGone, 50, 90)
	s := nodesTable(r, factsOf(r))
	if got := fmt.Sprint(s.grid()); !strings.Contains(got, "object deleted") || !strings.Contains(got, "T+00:30.0") {
		t.Error(got)
	}
}

// A node that is NotReady again for a moment after its return was Ready twice.
func TestTheTableOfNodesHasAFlap(t *testing.T) {
	r := bare()
	signs(r, 20, "k8s2", view.SignSilent)
	down(r, "k8s2", outage.SpanNotReady, 25, 53.8)
	down(r, "k8s2", outage.SpanSilent, 23, 57)
	down(r, "k8s2", outage.SpanNotReady, 59.7, 60)
	if got := rowsOf(nodesTable(r, factsOf(r))); !strings.Contains(got, "|T+00:33.8, NotReady again for 0.3 s at T+00:39.7|40 s") {
		t.Error(got)
	}
}

// Requests that begin after Services know of the lost pods show nothing of the time before.
func TestATimeWithoutRequestsIsTold(t *testing.T) {
	for name, begins := range begun {
		r := bare()
		begins(r)
		down(r, "k8s2", outage.SpanSilent, 23, 90)
		silence(r)
		r.Seconds[36].Sent = 1
		sees(r, view.PhaseEndpointsOut, "k8s2", 26-r.Zero.Sub(zero).Seconds())
		sees(r, view.PhaseErrors, "load", 0)
		r.Summary.Phases[1].Observed = nil
		if got := Opening(r)[0] + rowsOf(phasesOf(r, nil)); !strings.Contains(got, "lightsout sent no request from "+clock(at(20))+" to ") || !strings.Contains(got, "|not observed|lightsout") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The seconds of a record may have a failure from before zero: what failed outside of the error windows is what
// the summary counts.
func TestFailuresOutsideOfTheErrorWindowsAreThoseOfTheSummary(t *testing.T) {
	for outside, want := range map[int]string{0: "15 of 81 requests of lightsout sent meanwhile failed, within 15 s.", 2: " failed, within 15 s, and 2 more requests failed outside of that time."} {
		r := bare()
		down(r, "k8s2", outage.SpanSilent, 20, 100)
		fail(r, 45, 60)
		r.Seconds[90].Failed = map[loadgen.Class]int{loadgen.ClassReset: 5}
		if outside > 0 {
			r.Summary.Load[0].LaterFailures = &record.Span{From: 90, To: 91, Failed: outside}
		}
		if got := strings.Join(Opening(r), " "); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
