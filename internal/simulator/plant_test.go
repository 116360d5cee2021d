package simulator

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"lightsout/power"
)

// plant is a cluster of size S in virtual time: machines with kubelets, and the parts of
// a control plane that an outage sets in motion, with upstream's timings. It writes to an
// apiServer. It does not use the program's rules.
type plant struct {
	api *apiServer
	end chan struct{}

	mu    sync.Mutex
	r     *rand.Rand
	nodes []*machine
	apps  []*app
	pods  []*pod
	made  int
	// entryDown: nothing listens at the address of the service.
	entryDown bool
}

// machine is a node: the machine, its kubelet, and what the API server has of it.
type machine struct {
	name                string
	on, kubelet, linked bool // has power, runs a kubelet, is on the network
	boot                int
	up                  time.Time // when the boot ends
	beat                time.Time // when the next heartbeat is due
	late                time.Duration

	gone     bool // the object is deleted
	ready    corev1.ConditionStatus
	since    time.Time
	renewed  time.Time
	observed time.Time // the node lifecycle controller's clock of its silence
	tainted  time.Time
	cordoned bool
	note     string
}

// runs reports whether a machine's pods run, and heard whether its kubelet is heard too.
func (m *machine) runs(now time.Time) bool  { return m.on && !now.Before(m.up) }
func (m *machine) heard(now time.Time) bool { return m.runs(now) && m.kubelet && m.linked && !m.gone }

// app is a deployment and its service.
type app struct {
	name     string
	replicas int
	revision int
	crashing bool // none of its pods answers
	shown    string
}

// pod is a pod of an app.
type pod struct {
	app      *app
	name     string
	revision int
	made     time.Time
	node     *machine // nil: it waits for one
	starts   time.Time
	ready    bool
	deleting time.Time // when its deletion was asked for
	ends     time.Time // when its kubelet has ended it
}

// The cluster has upstream's timings.
const (
	gracePeriod = 40 * time.Second // node-monitor-grace-period
	tolerated   = 300 * time.Second
	podsPerNode = 18
	plantStep   = 250 * time.Millisecond
	probedApp   = "web"
)

func newPlant(r *rand.Rand) *plant {
	p := &plant{api: newAPIServer(), r: r, end: make(chan struct{})}
	now := time.Now()
	for i := range 4 {
		m := &machine{name: fmt.Sprintf("n%d", i+1), on: true, kubelet: true, linked: true, boot: 1, beat: now.Add(time.Duration(i) * 2 * time.Second), ready: corev1.ConditionTrue, since: now.Add(-time.Hour)}
		p.nodes = append(p.nodes, m)
		p.renew(m, now)
		p.putNode(m)
	}
	for i, name := range []string{probedApp, "api", "db", "queue", "batch", "cache"} {
		a := &app{name: name, replicas: []int{6, 8, 3, 10, 12, 11}[i]}
		p.apps = append(p.apps, a)
		for range a.replicas {
			q := p.newPod(a, now.Add(-time.Hour))
			p.schedule(now.Add(-time.Hour))
			q.ready = true
			p.putPod(q)
		}
	}
	p.publish()
	return p
}

// run is the cluster until close.
func (p *plant) run() {
	for n := 0; ; n++ {
		select {
		case <-p.end:
			return
		case <-time.After(plantStep):
		}
		if p.api.served(0) {
			p.change(func() { p.step(time.Now(), n) })
		}
	}
}

// change changes the cluster.
func (p *plant) change(how func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how()
}

// step lets the kubelets and the controllers do what is due.
func (p *plant) step(now time.Time, n int) {
	for _, m := range p.nodes {
		if m.heard(now) {
			p.kubeletStep(m, now)
		}
	}
	if n%4 != 0 || !p.api.served(time.Second) {
		return
	}
	p.watchNodes(now)
	for _, a := range p.apps {
		p.roll(a, now)
	}
	p.schedule(now)
	p.endPods(now)
	p.publish()
}

// kubeletStep renews the Lease, posts Ready, and follows the pods.
func (p *plant) kubeletStep(m *machine, now time.Time) {
	if !now.Before(m.beat) {
		p.renew(m, now)
		m.beat = now.Add(10*time.Second + time.Duration(p.r.Int64N(int64(400*time.Millisecond))) + m.late)
		m.late = 0
	}
	if m.ready != corev1.ConditionTrue {
		m.ready, m.since, m.tainted = corev1.ConditionTrue, now, time.Time{}
		p.putNode(m)
	}
	for _, q := range p.pods {
		if q.node != m || !q.deleting.IsZero() {
			continue
		}
		if ready := !now.Before(q.starts) && !q.app.crashing; ready != q.ready {
			q.ready = ready
			p.putPod(q)
		}
	}
}

// watchNodes is the node lifecycle controller: it finds silent nodes and evicts their pods.
func (p *plant) watchNodes(now time.Time) {
	for _, m := range p.nodes {
		if m.gone || m.ready != corev1.ConditionTrue && m.tainted.IsZero() {
			continue
		}
		if m.tainted.IsZero() && now.Sub(m.observed) > gracePeriod && p.api.served(gracePeriod) {
			m.ready, m.since, m.tainted = corev1.ConditionUnknown, now, now
			p.putNode(m)
			for _, q := range p.pods {
				if q.node == m && q.ready {
					q.ready = false
					p.putPod(q)
				}
			}
		}
		if !m.tainted.IsZero() && now.Sub(m.tainted) > tolerated {
			for _, q := range p.pods {
				if q.node == m {
					p.deletePod(q, now)
				}
			}
		}
	}
}

// roll is the deployment controller: it replaces pods one by one, and keeps their number.
func (p *plant) roll(a *app, now time.Time) {
	var live, old []*pod
	ready := 0
	for _, q := range p.pods {
		if q.app != a || !q.deleting.IsZero() {
			continue
		}
		live = append(live, q)
		if q.revision != a.revision {
			old = append(old, q)
		}
		if q.ready {
			ready++
		}
	}
	switch {
	case len(old) > 0 && len(live) > a.replicas && (ready > a.replicas || !old[0].ready):
		p.deletePod(old[0], now)
	case len(old) > 0 && len(live) <= a.replicas && a.replicas > 0:
		p.newPod(a, now)
	case len(old) == 0:
		for n := len(live); n < a.replicas; n++ {
			p.newPod(a, now)
		}
		for n := len(live); n > a.replicas; n-- {
			p.deletePod(live[n-1], now)
		}
	}
}

// schedule binds pods to nodes with room.
func (p *plant) schedule(now time.Time) {
	for _, q := range p.pods {
		if q.node != nil || !q.deleting.IsZero() {
			continue
		}
		var best *machine
		least := podsPerNode
		for _, m := range p.nodes {
			if n := p.podsOn(m); !m.gone && m.ready == corev1.ConditionTrue && !m.cordoned && n < least {
				best, least = m, n
			}
		}
		if best != nil {
			q.node, q.starts = best, now.Add(between(p.r, 2*time.Second, 5*time.Second))
			p.putPod(q)
		}
	}
}

func (p *plant) podsOn(m *machine) (n int) {
	for _, q := range p.pods {
		if q.node == m {
			n++
		}
	}
	return n
}

// endPods removes the pods that have ended, and those of deleted nodes.
func (p *plant) endPods(now time.Time) {
	p.pods = slices.DeleteFunc(p.pods, func(q *pod) bool {
		over := !q.deleting.IsZero() && (q.node == nil || q.node.heard(now) && now.After(q.ends))
		if over || q.node != nil && q.node.gone {
			p.api.remove("pods", q.object())
			return true
		}
		return false
	})
}

func (p *plant) newPod(a *app, now time.Time) *pod {
	p.made++
	q := &pod{app: a, name: fmt.Sprintf("%s-%d-%05d", a.name, a.revision, p.made), revision: a.revision, made: now}
	p.pods = append(p.pods, q)
	p.putPod(q)
	return q
}

func (p *plant) deletePod(q *pod, now time.Time) {
	if q.deleting.IsZero() {
		q.deleting, q.ends, q.ready = now, now.Add(between(p.r, time.Second, 10*time.Second)), false
		p.putPod(q)
	}
}

// publish puts the deployments and endpoint slices that have changed.
func (p *plant) publish() {
	for _, a := range p.apps {
		var slice []discoveryv1.Endpoint
		total, updated, ready := 0, 0, 0
		for _, q := range p.pods {
			if q.app != a || q.node == nil || q.starts.After(time.Now()) && !q.ready {
				continue
			}
			slice = append(slice, discoveryv1.Endpoint{Addresses: []string{"10.1.1.1"}, NodeName: &q.node.name,
				Conditions: discoveryv1.EndpointConditions{Ready: &q.ready, Serving: &q.ready, Terminating: ptr.To(!q.deleting.IsZero())}})
			if q.deleting.IsZero() {
				total++
				if q.ready {
					ready++
				}
				if q.revision == a.revision {
					updated++
				}
			}
		}
		shown := fmt.Sprint(a.replicas, a.revision, total, updated, ready, len(slice))
		for _, e := range slice {
			shown += fmt.Sprint(*e.NodeName, *e.Conditions.Ready, *e.Conditions.Terminating)
		}
		if shown == a.shown {
			continue
		}
		a.shown = shown
		labels := map[string]string{"app": a.name}
		p.api.put("deployments", &appsv1.Deployment{TypeMeta: meta("deployments"), ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: a.name, UID: types.UID(a.name), Labels: labels, Generation: int64(a.revision)},
			Spec:   appsv1.DeploymentSpec{Replicas: ptr.To(int32(a.replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels}},
			Status: appsv1.DeploymentStatus{ObservedGeneration: int64(a.revision), Replicas: int32(total), UpdatedReplicas: int32(updated), ReadyReplicas: int32(ready), AvailableReplicas: int32(ready)}})
		p.api.put("endpointslices", &discoveryv1.EndpointSlice{TypeMeta: meta("endpointslices"), AddressType: discoveryv1.AddressTypeIPv4, Endpoints: slice,
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: a.name + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: a.name}}})
	}
}

func meta(resource string) metav1.TypeMeta {
	kind, version := kindOf(resource)
	return metav1.TypeMeta{Kind: kind, APIVersion: version}
}

func (p *plant) renew(m *machine, now time.Time) {
	m.renewed, m.observed = now, now
	p.api.put("leases", &coordinationv1.Lease{TypeMeta: meta("leases"), ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: m.name},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &m.name, LeaseDurationSeconds: ptr.To(int32(40)), RenewTime: &metav1.MicroTime{Time: now}}})
}

func (p *plant) putNode(m *machine) { p.api.put("nodes", m.object()) }

func (m *machine) object() *corev1.Node {
	n := &corev1.Node{TypeMeta: meta("nodes"), ObjectMeta: metav1.ObjectMeta{Name: m.name, UID: types.UID(m.name), CreationTimestamp: metav1.Time{Time: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)}},
		Spec: corev1.NodeSpec{Unschedulable: m.cordoned}}
	if m.note != "" {
		n.Annotations = map[string]string{power.AnnotationSwitchedOff: m.note}
	}
	if !m.tainted.IsZero() {
		n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: &metav1.Time{Time: m.tainted}}}
	}
	n.Status.NodeInfo.BootID = fmt.Sprintf("%s-%d", m.name, m.boot)
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(podsPerNode, resource.DecimalSI)}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: m.ready, LastTransitionTime: metav1.Time{Time: m.since}}}
	return n
}

func (p *plant) putPod(q *pod) { p.api.put("pods", q.object()) }

func (q *pod) object() *corev1.Pod {
	set := fmt.Sprintf("%s-%d", q.app.name, q.revision)
	o := &corev1.Pod{TypeMeta: meta("pods"), ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: q.name, UID: types.UID(q.name), CreationTimestamp: metav1.Time{Time: q.made},
		Labels:          map[string]string{"app": q.app.name, "pod-template-hash": fmt.Sprint(q.revision)},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", APIVersion: "apps/v1", Name: set, UID: types.UID(set), Controller: ptr.To(true)}},
	}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	for _, key := range []string{corev1.TaintNodeUnreachable, corev1.TaintNodeNotReady} {
		o.Spec.Tolerations = append(o.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To(int64(tolerated / time.Second))})
	}
	if !q.deleting.IsZero() {
		o.DeletionTimestamp, o.DeletionGracePeriodSeconds = &metav1.Time{Time: q.deleting.Add(30 * time.Second)}, ptr.To(int64(30))
	}
	o.Status.Phase = corev1.PodPending
	if q.node != nil {
		o.Spec.NodeName = q.node.name
		if q.ready || !q.starts.IsZero() && time.Now().After(q.starts) {
			o.Status.Phase = corev1.PodRunning
		}
	}
	ready := corev1.ConditionFalse
	if q.ready {
		ready = corev1.ConditionTrue
	}
	o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	o.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Ready: q.ready}}
	return o
}

// off takes a machine's power away; on returns it, and boots.
func (m *machine) off() { m.on = false }

func (p *plant) on(m *machine, boots time.Duration) {
	now := time.Now()
	m.on, m.kubelet, m.up, m.boot, m.beat = true, true, now.Add(boots), m.boot+1, now
	for _, q := range p.pods {
		if q.node == m {
			q.starts = m.up.Add(between(p.r, 2*time.Second, 5*time.Second))
		}
	}
	m.since = m.up
}

// well reports whether nothing of an outage is left that anybody could see.
func (p *plant) well() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for _, m := range p.nodes {
		if !m.heard(now) || m.ready != corev1.ConditionTrue || m.cordoned || now.Sub(m.renewed) > 12*time.Second {
			return false
		}
	}
	ready := map[*app]int{}
	for _, q := range p.pods {
		if q.node == nil || !q.deleting.IsZero() || !q.ready {
			return false
		}
		ready[q.app]++
	}
	for _, a := range p.apps {
		if ready[a] != a.replicas {
			return false
		}
	}
	return p.api.served(10*time.Second) && !p.entryDown
}

// client opens a connection to the probed service, by way of an entry that chooses among
// the pods that the API server calls ready.
func (p *plant) client(ctx context.Context, _, _ string) (net.Conn, error) {
	p.mu.Lock()
	now := time.Now()
	var ready []*pod
	for _, q := range p.pods {
		if q.app.name == probedApp && q.ready {
			ready = append(ready, q)
		}
	}
	if p.entryDown || len(ready) == 0 {
		p.mu.Unlock()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	q := ready[p.r.IntN(len(ready))]
	reached, answers := q.node.runs(now) && q.node.linked, !q.app.crashing && !now.Before(q.starts)
	p.mu.Unlock()
	switch {
	case !reached:
		<-ctx.Done()
		return nil, ctx.Err()
	case !answers:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	client, server := net.Pipe()
	go answer(server)
	return client, nil
}

// answer answers one request.
func answer(c net.Conn) {
	defer c.Close()
	var head []byte
	for buf := make([]byte, 4096); !bytes.Contains(head, []byte("\r\n\r\n")); {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		head = append(head, buf[:n]...)
	}
	time.Sleep(20 * time.Millisecond)
	_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"))
}
