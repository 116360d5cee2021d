package report

import (
	"testing"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// tells adds an event of Kubernetes about a pod or its owner.
func tells(r *record.Record, s float64, kind cluster.Kind, subject, reason, why string) {
	r.Events = append(r.Events, view.Event{At: at(s), Seen: at(s), Kind: string(kind), Lane: view.LaneEvent, Namespace: "default", Subject: subject,
		Change: cluster.ChangeEvent, To: reason, Why: why, Is: cluster.HealthBad, Text: reason + ": " + why})
}

// fallsAndReturns has k8s2 fall silent at 20 s, and return at 400 s, with the recorder watching.
func fallsAndReturns(r *record.Record) {
	signs(r, 20, "k8s2", view.SignSilent)
	down(r, "k8s2", outage.SpanSilent, 23, 398)
	down(r, "k8s2", outage.SpanNotReady, 65, 400)
	r.Events = append(r.Events, view.Event{Lane: view.LaneTaint, Subject: "k8s2", Change: cluster.ChangeTaint, To: cluster.TaintUnreachable + ":NoExecute", At: at(46), Seen: at(46)})
	s := r.Summary
	s.Name, s.Started, s.Ended, s.Unplanned.Severity = "outage k8s2", at(23), at(600), record.SeverityNoneFailed
	s.Unplanned.Signs = []record.Sign{{Kind: view.SignSilent, Subject: "k8s2", At: at(20), Noticed: at(23)}}
	s.Settings = []record.Setting{
		{Name: gracePeriod, Value: "50s", Source: cluster.Assumed}, {Name: monitorPeriod, Value: "5s", Source: cluster.Assumed},
		{Name: tolerationOf + cluster.TaintUnreachable, Value: "300s", Source: "pod"},
	}
	for _, p := range []struct {
		name, subject string
		at            float64
	}{
		{view.PhaseDetected, "k8s2", 45}, {view.PhaseEndpointsOut, "k8s2", 46}, {view.PhaseTainted, "k8s2", 46}, {view.PhaseEvicted, "k8s2", 346},
		{view.PhaseBooted, "k8s2", 378}, {view.PhaseReady, "k8s2", 380}, {view.PhaseRestored, "default/web", 385},
	} {
		sees(r, p.name, p.subject, p.at)
	}
	s.Deployment, s.Ledger.Balanced = "default/web", true
	s.Ledger.Counts = loadgen.Counts{Scheduled: 580, OK: 580}
}

// replaces has the deployment lose three of six pods, and have them again at a time.
func replaces(r *record.Record, until float64) {
	counts(r, 1, "", "6/6")
	counts(r, 66, "6/6", "3/6")
	counts(r, until, "3/6", "6/6")
}

func TestReportsOfOutagesAreAsTheyWereAccepted(t *testing.T) {
	for name, happens := range map[string]func(r *record.Record){
		"unplanned": func(r *record.Record) {
			replaces(r, 372)
			fail(r, 21, 68)
			r.Summary.Load[0] = record.Load{Step: "clients", Sent: 580, Counts: loadgen.Counts{Scheduled: 580, OK: 533, Failed: 47, FailedByClass: map[loadgen.Class]int{loadgen.ClassReset: 47}},
				Failures: record.Failures{ErrorWindows: []record.Span{{From: 1, To: 48, Failed: 47}}}}
			r.Summary.Unplanned.Severity, r.Summary.Ledger.OK, r.Summary.Ledger.Failed = record.SeverityDown, 533, 47
			sees(r, view.PhaseReplaced, "default/web", 352)
		},
		"workloads": func(r *record.Record) {
			replaces(r, 405)
			shop := &cluster.Deployment{Key: cluster.Key{Namespace: "default", Name: "shop"}, Replicas: 5, Available: 5}
			r.Samples = append(r.Samples, record.Sample{At: at(2), Key: true, Cluster: &record.Cluster{At: at(2), Deployments: []*cluster.Deployment{shop}}})
			for s, to := range map[float64]string{67: "0/5", 402: "5/5"} {
				countsOf(r, "shop", s, "5/5", to)
			}
		},
		"no-load": func(r *record.Record) {
			silence(r)
			r.Summary.Ledger.Counts, r.Summary.Unplanned.Severity = loadgen.Counts{}, record.SeverityUnknown
			r.Summary.Unplanned.Why = "lightsout sent no requests"
			replaces(r, 372)
		},
		"no-room": func(r *record.Record) {
			replaces(r, 405)
			scales(r, 0, 6)
			waits(r, 366, "web-1", "web-2", "web-3")
			tells(r, 367, cluster.KindPod, "web-1", "FailedScheduling", "0/3 nodes are available: 2 Insufficient cpu, 1 node(s) had untolerated taint(s).")
			r.Samples = append(r.Samples, record.Sample{At: at(401), Key: true, Cluster: &record.Cluster{At: at(401)}})
		},
		"volume": func(r *record.Record) {
			replaces(r, 405)
			tells(r, 370, cluster.KindPod, "web-2", attachFailed, multiAttach+`"pv-notes" Volume is already used by pod(s) web-1`)
		},
		"quota": func(r *record.Record) {
			replaces(r, 405)
			tells(r, 367, "replicaset", "web-67c6944cd9", "FailedCreate", `pods "web-67c6944cd9-2kslv" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=6, limited: pods=6`)
		},
		"hidden": func(r *record.Record) {
			replaces(r, 372)
			loseAPI(r, 60, 75)
			r.Summary.Blind = []record.Blind{{From: 40, To: 55, Why: "the API server did not answer (timeout)"}}
			for i := range r.Summary.Phases[:2] {
				from := 40.0
				r.Summary.Phases[i].HiddenFrom = &from
			}
		},
	} {
		r := bare()
		fallsAndReturns(r)
		happens(r)
		golden(t, name+".md", write(t, asMarkdown, r))
	}
}
