package report

import (
	"fmt"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// bare is a record of ten minutes with a request a second and six pods, in which
// nothing happened.
func bare() *record.Record {
	r := &record.Record{Dir: "outage-1", Start: at(0), Zero: zero, End: at(600), Summary: &record.Summary{Zero: zero}}
	for s := range 600 {
		r.Seconds = append(r.Seconds, record.Second{Second: loadgen.Second{At: at(float64(s)).Truncate(time.Second), Sent: 1, OK: 1}, Available: 6})
	}
	return r
}

// down adds a span of a node, to the end for to 0.
func down(r *record.Record, node string, kind outage.SpanKind, from, to float64) {
	o := outage.Span{Node: node, Kind: kind, From: at(from), To: at(to), After: at(from)}
	if to == 0 {
		o.To = time.Time{}
	}
	for i := range r.Lanes {
		if r.Lanes[i].Node == node {
			r.Lanes[i].Spans = append(r.Lanes[i].Spans, o)
			return
		}
	}
	r.Lanes = append(r.Lanes, record.Lane{Node: node, Spans: []outage.Span{o}})
}

// asks adds the request to take a machine down.
func asks(r *record.Record, node string, s float64, action power.Action, phase power.Stage) {
	occurs(r, s, view.NewEvent(view.CodePowerOperation, node, view.Facts{Action: action, Stage: phase}))
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
	r.Samples = append(r.Samples, record.Sample{At: at(s), Key: s == 0, Focus: &key, Cluster: &record.Cluster{At: at(s), Deployments: []*cluster.Deployment{{Key: key, Replicas: replicas, Available: replicas}}}})
}

// counts has Kubernetes count available pods of the deployment, "5/6", from then on.
func counts(r *record.Record, s float64, from, to string) {
	r.Summary.Deployment = "default/web"
	var f view.Facts
	fmt.Sscanf(to, "%d/%d", &f.N, &f.Of)
	r.Events = append(r.Events, view.Event{At: at(s), Seen: at(s), Code: "deployment_replicas", Lane: view.LaneDeployment, Kind: "deployment",
		Namespace: "default", Subject: "web", Change: cluster.ChangeReplicas, From: from, To: to, Why: "available", Facts: f})
}

// countsOf is counts for another deployment.
func countsOf(r *record.Record, name string, s float64, from, to string) {
	counts(r, s, from, to)
	r.Events[len(r.Events)-1].Subject = name
}

// waits adds pods of the deployment without a node from then on.
func waits(r *record.Record, s float64, names ...string) {
	c := &record.Cluster{At: at(s)}
	for _, n := range names {
		c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: n}, Phase: "Pending", Deployment: "web"})
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
		occurs(r, s, view.NewEvent(code, "API server", view.Facts{}))
	}
}

// occurs adds an event.
func occurs(r *record.Record, s float64, e view.Event) {
	e.At, e.Seen = at(s), at(s)
	r.Events = append(r.Events, e)
}

// begun are the ways in which k8s2 goes down at 20 s.
var begun = map[string]func(r *record.Record){
	"unplanned": func(r *record.Record) { signs(r, 20, "k8s2", view.SignSilent) },
	"trial":     func(r *record.Record) { off(r, 70) },
	"aborted":   func(r *record.Record) { off(r, 70); aborts(r, 69) },
}

// aborts has somebody abort the trial.
func aborts(r *record.Record, s float64) {
	occurs(r, s, view.NewEvent(view.CodeTrialAborted, "trial", view.Facts{}))
}

// fail has every request fail for a while, as an error window.
func fail(r *record.Record, from, to int) {
	for i := from; i < to; i++ {
		r.Seconds[i].OK, r.Seconds[i].Failed = 0, map[loadgen.Class]int{loadgen.ClassReset: 1}
	}
	r.Summary.Load = append(r.Summary.Load, record.Load{Failures: record.Failures{
		ErrorWindows: []record.Span{{From: float64(from), To: float64(to), Failed: to - from}}, Unrecovered: to == len(r.Seconds)}})
}

func silence(r *record.Record) {
	for i := range r.Seconds {
		r.Seconds[i].Sent, r.Seconds[i].OK = 0, 0
	}
}

// rowsOf are the rows of a section without its empty columns, a line each.
func rowsOf(s section) string {
	s.trim()
	var rows []string
	for _, row := range s.Rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, c.Text)
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	return strings.Join(rows, "\n")
}

// sees adds a phase that was observed.
func sees(r *record.Record, phase, node string, at float64) {
	r.Summary.Phases = append(r.Summary.Phases, view.Phase{Name: phase, Subject: node, Observed: &at})
}

// falls has a node fall silent, as the recorder notices it, and Kubernetes mark it NotReady.
func falls(r *record.Record, node string, from, detected float64) {
	down(r, node, outage.SpanSilent, from+3, 0)
	sign := view.NewEvent(view.CodeOutageSign, node, view.Facts{Sign: view.SignSilent})
	sign.At, sign.Seen = at(from), at(from+3)
	r.Events = append(r.Events, sign)
	sees(r, view.PhaseDetected, node, detected)
}

// reportsBoot adds that a node reports a boot ID from then on.
func reportsBoot(r *record.Record, node string, s float64, id string) {
	r.Samples = append(r.Samples, record.Sample{At: at(s), Key: s == 0, Cluster: &record.Cluster{At: at(s), Nodes: []*cluster.Node{{Name: node, Ready: cluster.TriTrue, BootID: id}}}})
}

// kube is what Kubernetes did by a record.
func kube(r *record.Record) section { return kubernetesOf(r, causesOf(r, factsOf(r))) }
