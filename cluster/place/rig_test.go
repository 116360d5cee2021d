package place_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"lightsout/cluster"
	"lightsout/cluster/place"
	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

var (
	seed = flag.Uint64("seed", 1, "seed of the first world")
	only = flag.String("family", "", "play only worlds of one family")
)

// shared creates the objects that all worlds use.
func (p *plane) shared(ctx context.Context) {
	never := corev1.PreemptNever
	for name, value := range map[string]int32{"low": -10, "high": 100, "top": 1000, "patient": 500} {
		pc := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if name == "patient" {
			pc.PreemptionPolicy = &never
		}
		_, err := p.api.SchedulingV1().PriorityClasses().Create(ctx, pc, metav1.CreateOptions{})
		must(p.t, err)
	}
	_, err := p.api.NodeV1().RuntimeClasses().Create(ctx, &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "over"}, Handler: "h",
		Overhead: &nodev1.Overhead{PodFixed: amounts("cpu", "500m")}}, metav1.CreateOptions{})
	must(p.t, err)
}

func (p *plane) create(ctx context.Context, o runtime.Object) {
	var err error
	opts := metav1.CreateOptions{}
	switch x := o.(type) {
	case *corev1.Node:
		if _, err = p.api.CoreV1().Nodes().Create(ctx, x, opts); err == nil {
			_, err = p.api.CoreV1().Nodes().Patch(ctx, x.Name, types.StrategicMergePatchType, statusOf(x), metav1.PatchOptions{}, "status")
		}
	case *corev1.PersistentVolume:
		_, err = p.api.CoreV1().PersistentVolumes().Create(ctx, x, opts)
	case *corev1.PersistentVolumeClaim:
		_, err = p.api.CoreV1().PersistentVolumeClaims(x.Namespace).Create(ctx, x, opts)
		p.until("the claim is bound", func() bool {
			c, err := p.api.CoreV1().PersistentVolumeClaims(x.Namespace).Get(ctx, x.Name, metav1.GetOptions{})
			return err == nil && c.Status.Phase == corev1.ClaimBound
		})
	case *corev1.ResourceQuota:
		_, err = p.api.CoreV1().ResourceQuotas(x.Namespace).Create(ctx, x, opts)
	case *corev1.Pod:
		_, err = p.api.CoreV1().Pods(x.Namespace).Create(ctx, x, opts)
	case *appsv1.ReplicaSet:
		_, err = p.api.AppsV1().ReplicaSets(x.Namespace).Create(ctx, x, opts)
	case *appsv1.StatefulSet:
		_, err = p.api.AppsV1().StatefulSets(x.Namespace).Create(ctx, x, opts)
	case *batchv1.Job:
		_, err = p.api.BatchV1().Jobs(x.Namespace).Create(ctx, x, opts)
	}
	must(p.t, err)
}

func statusOf(n *corev1.Node) []byte {
	var list []string
	for name, q := range n.Status.Allocatable {
		list = append(list, fmt.Sprintf("%q:%q", name, q.String()))
	}
	all := "{" + strings.Join(list, ",") + "}"
	return []byte(`{"status":{"allocatable":` + all + `,"capacity":` + all + `,"conditions":[{"type":"Ready","status":"True"}]}}`)
}

// result is the result of one world.
type result struct {
	*world
	truth, likely int
	forecast      place.Range
	told          *place.Outcome
	owners        map[string]int
}

// play creates a world, makes the forecast, and then causes the outage.
func (p *plane) play(t testing.TB, w *world) *result {
	ctx := t.Context()
	p.build(ctx, w)
	out := &result{world: w, owners: map[string]int{}}
	s := p.snapshot(t, w)
	begin := p.mine(w.prefix)
	out.told = place.New(s).Lose(w.lost, place.Options{Seed: w.seed})
	out.forecast, out.likely = out.told.Pending, out.told.Likely
	p.outage(ctx, w)
	if missing := len(begin) - len(p.mine(w.prefix)); w.family == "quota" && (missing < out.told.Missing.Low || missing > out.told.Missing.High) {
		t.Errorf("seed %d: %d pods were not created again, forecast %v", w.seed, missing, out.told.Missing)
	}
	for _, pod := range p.homeless(w) {
		out.truth++
		out.owners[pod.Labels["app"]]++
	}
	p.clear(ctx, w)
	return out
}

// homeless returns the pods of a world that have no node.
func (p *plane) homeless(w *world) []*corev1.Pod {
	return slices.DeleteFunc(p.mine(w.prefix), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" })
}

// build creates a world.
func (p *plane) build(ctx context.Context, w *world) {
	p.mu.Lock()
	clear(p.lost)
	p.last = time.Now()
	p.mu.Unlock()
	for _, ns := range w.spaces() {
		_, err := p.api.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{})
		if !errors.IsAlreadyExists(err) { // it stays when a world is over
			must(p.t, err)
		}
	}
	for _, n := range w.nodes {
		p.create(ctx, n)
	}
	// The controller taints new nodes as not ready until it has seen them.
	p.until("the nodes take pods", func() bool {
		list, err := p.api.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		ready := 0
		for i := range list.Items {
			if strings.HasPrefix(list.Items[i].Name, w.prefix) && !slices.ContainsFunc(list.Items[i].Spec.Taints, func(t corev1.Taint) bool { return t.Key == cluster.TaintNotReady }) {
				ready++
			}
		}
		return err == nil && ready == len(w.nodes)
	})
	want := 0
	for _, o := range w.objects {
		p.create(ctx, o)
		switch x := o.(type) {
		case *corev1.Pod:
			want++
		case *appsv1.ReplicaSet:
			want += int(*x.Spec.Replicas)
		case *appsv1.StatefulSet:
			want += int(*x.Spec.Replicas)
		case *batchv1.Job:
			want += int(*x.Spec.Parallelism)
		}
	}
	p.until(fmt.Sprintf("world %d of %s is populated", w.seed, w.family), func() bool {
		// Nobody replaces a bare pod that another one preempts, or the pods of a failed Job.
		return p.settled(w.prefix, 700*time.Millisecond) && (w.quota() || len(p.mine(w.prefix)) == want) || p.settled(w.prefix, 30*time.Second)
	})
}

// snapshot returns lightsout's snapshot once it is complete.
func (p *plane) snapshot(t testing.TB, w *world) *cluster.Snapshot {
	watcher := p.watcher
	if w.family == "namespaces" {
		watcher = p.watch(t, w.space(0))
	}
	var s *cluster.Snapshot
	p.until("lightsout knows the world", func() bool {
		s = watcher.Snapshot()
		bound, known := 0, 0
		for _, pod := range p.mine(w.prefix) {
			if bound++; pod.Spec.NodeName == "" {
				known-- // it is known to have none
			}
			k := cluster.Key{Namespace: pod.Namespace, Name: pod.Name}
			if x := s.Pod(k); x != nil && x.Node == pod.Spec.NodeName {
				known++
			} else if w.family == "namespaces" && slices.ContainsFunc(s.Objects(cluster.KindNeighbour), func(o *cluster.Object) bool {
				return o.Key == k && o.Value.(*cluster.Pod).Node == pod.Spec.NodeName
			}) {
				known++
			}
			if pod.Spec.NodeName == "" {
				known++
			}
		}
		return known == bound && s.Access[cluster.KindJob].Synced && s.Access[cluster.KindQuota].Synced
	})
	return s
}

// outage makes the nodes lost, and waits until nothing changes any more.
func (p *plane) outage(ctx context.Context, w *world) {
	p.mu.Lock()
	for _, n := range w.lost {
		p.lost[n] = true
	}
	p.mu.Unlock()
	for _, n := range w.lost {
		_, err := p.api.CoreV1().Nodes().Patch(ctx, n, types.StrategicMergePatchType,
			[]byte(`{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}]}}`), metav1.PatchOptions{}, "status")
		must(p.t, err)
	}
	p.until("the pods of the lost nodes are evicted", func() bool {
		return !slices.ContainsFunc(p.mine(w.prefix), func(pod *corev1.Pod) bool { return slices.Contains(w.lost, pod.Spec.NodeName) })
	})
	long, quiet := 6*time.Minute, 2500*time.Millisecond // a Job waits 320 s after its sixth failure
	if w.quota() {
		// It forgets the pods that hang 2 s after their eviction and is recounted within 5 s; a
		// ReplicaSet tries again within as long as it has tried.
		long, quiet = time.Minute, 25*time.Second
	}
	p.until("nothing moves any more", func() bool {
		return p.settled(w.prefix, quiet) && p.jobsRest(ctx, w) || p.settled(w.prefix, long)
	})
	p.pass(ctx)
	p.until("nothing moves after that", func() bool { return p.settled(w.prefix, 2500*time.Millisecond) })
}

// pass waits until the controllers and the scheduler have worked off what they had queued:
// a new ReplicaSet has its pod, of the lowest priority, and the scheduler has refused it.
// On a busy machine they may rest for seconds although they have work.
func (p *plane) pass(ctx context.Context) {
	one, labels := int32(1), map[string]string{"app": "sentinel"}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "sentinel", Namespace: "default"}, Spec: appsv1.ReplicaSetSpec{Replicas: &one,
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			PriorityClassName: "low", NodeSelector: labels, Containers: []corev1.Container{{Name: "main", Image: "i"}}}}}}
	p.create(ctx, set)
	p.until("the scheduler refuses the last pod", func() bool { return slices.ContainsFunc(p.mine(set.Namespace), refused) })
	must(p.t, p.api.AppsV1().ReplicaSets(set.Namespace).Delete(ctx, set.Name, now))
	p.until("the last pod is gone", func() bool {
		_ = p.api.CoreV1().Pods(set.Namespace).DeleteCollection(ctx, now, metav1.ListOptions{})
		return len(p.mine(set.Namespace)) == 0
	})
}

// jobsRest reports whether every Job has ended or has all its pods.
func (p *plane) jobsRest(ctx context.Context, w *world) bool {
	pods := map[string]int32{}
	for _, pod := range p.mine(w.prefix) {
		pods[pod.Labels["app"]]++
	}
	for _, o := range w.objects {
		if x, ok := o.(*batchv1.Job); ok && pods[x.Labels["app"]] != *x.Spec.Parallelism {
			now, err := p.api.BatchV1().Jobs(x.Namespace).Get(ctx, x.Name, metav1.GetOptions{})
			if err != nil || len(now.Status.Conditions) == 0 {
				return false
			}
		}
	}
	return true
}

// clear deletes the world.
func (p *plane) clear(ctx context.Context, w *world) {
	background := metav1.DeletePropagationBackground // no garbage collector runs
	leave := metav1.DeleteOptions{PropagationPolicy: &background}
	all := metav1.ListOptions{}
	for _, ns := range w.spaces() {
		_ = p.api.AppsV1().ReplicaSets(ns).DeleteCollection(ctx, leave, all)
		_ = p.api.AppsV1().StatefulSets(ns).DeleteCollection(ctx, leave, all)
		_ = p.api.BatchV1().Jobs(ns).DeleteCollection(ctx, leave, all)
		_ = p.api.CoreV1().ResourceQuotas(ns).DeleteCollection(ctx, now, all)
		_ = p.api.CoreV1().PersistentVolumeClaims(ns).DeleteCollection(ctx, now, all)
	}
	_ = p.api.CoreV1().PersistentVolumes().DeleteCollection(ctx, now, all)
	p.until("the world is gone", func() bool {
		for _, ns := range w.spaces() {
			_ = p.api.CoreV1().Pods(ns).DeleteCollection(ctx, now, all)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, pod := range p.pods {
			if strings.HasPrefix(pod.Namespace, w.prefix) {
				if len(pod.Finalizers) > 0 && pod.DeletionTimestamp != nil {
					_, _ = p.api.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
				}
				return false
			}
		}
		return true
	})
	_ = p.api.CoreV1().Nodes().DeleteCollection(ctx, now, all)
}

// The forecast of where pods go matches a real control plane in random worlds of every
// family. The scheduler picks at random among equal nodes: its result must lie in the
// forecast range. LIGHTSOUT_WORLDS=40 plays that many.
func TestPlaceAgainstTheScheduler(t *testing.T) {
	testenv.Long(t, 40)
	labtest.Program(t, "lightsout-lab") // without it no plane starts
	worlds, err := strconv.Atoi(cmp.Or(os.Getenv("LIGHTSOUT_WORLDS"), "8"))
	must(t, err)
	var list []*world
	for i := range worlds {
		list = append(list, newWorld(*seed+uint64(i), cmp.Or(*only, families[i%len(families)])))
	}
	next := make(chan *world, len(list))
	for _, w := range list {
		next <- w
	}
	close(next)
	var mu sync.Mutex
	var results []*result
	t.Run("worlds", func(t *testing.T) {
		for i := range min(4, len(list)) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for i := 0; len(next) > 0 && i < worlds; i++ { // a new plane after a world that failed
					t.Run("plane", func(t *testing.T) {
						p := startPlane(t)
						p.shared(t.Context())
						for w := range next {
							begun := time.Now()
							r := p.play(t, w)
							fmt.Fprintf(os.Stderr, "seed %d, %s: %d pending, forecast %v, likely %d (%.1f s)\n", w.seed, w.family, r.truth, r.forecast, r.likely, time.Since(begun).Seconds())
							mu.Lock()
							results = append(results, r)
							mu.Unlock()
						}
					})
				}
			})
		}
	})
	judge(t, results)
}

// judge prints the table of the families and fails if one is not good enough.
func judge(t *testing.T, results []*result) {
	type row struct{ worlds, homeless, exact, inside, narrow int }
	rows := map[string]*row{}
	var all row
	slices.SortFunc(results, func(a, b *result) int { return cmp.Compare(a.seed, b.seed) })
	for _, r := range results {
		if rows[r.family] == nil {
			rows[r.family] = &row{}
		}
		for _, x := range []*row{rows[r.family], &all} {
			x.worlds++
			x.homeless += count(r.truth > 0)
			x.exact += count(r.truth == r.likely)
			x.inside += count(r.truth >= r.forecast.Low && r.truth <= r.forecast.High)
			x.narrow += count(r.forecast.High-r.forecast.Low <= 1)
		}
		if r.truth != r.likely {
			t.Logf("seed %d, %s: %d pods pending, forecast %v, likely %d; by owner %v\n%s", r.seed, r.family, r.truth, r.forecast, r.likely, r.owners, told(r.told))
		}
	}
	out := "family | worlds | with homeless pods | exact | in the range | range of one pod or none\n"
	line := func(name string, x *row) {
		out += fmt.Sprintf("%s | %d | %d | %d | %d | %d\n", name, x.worlds, x.homeless, x.exact, x.inside, x.narrow)
	}
	for _, f := range families {
		if rows[f] != nil {
			line(f, rows[f])
		}
	}
	line("all", &all)
	fmt.Fprint(os.Stderr, out)
	// Of 40 worlds, some 36 are exact and 39 or 40 in the range; the scheduler's dice move
	// the exact ones by 1.5 worlds a run (standard deviation). These bounds lie four of
	// them below. An estimate by CPU and pod counts alone is right in half of the worlds.
	exact, inside := 75, 90
	if all.worlds < 40 { // a few of them move the shares further
		exact, inside = 50, 75
	}
	if all.exact*100 < all.worlds*exact || all.inside*100 < all.worlds*inside {
		t.Errorf("of %d worlds (seeds from %d) %d exact, %d in the range", all.worlds, *seed, all.exact, all.inside)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func told(o *place.Outcome) string {
	out := ""
	for _, w := range o.Workloads {
		if w.Pending.High > 0 || w.Missing.High > 0 || w.Stuck.High > 0 {
			out += fmt.Sprintf("  %s: lost %d, pending %v, missing %v, stuck %v: %v\n", w.Key, w.Lost, w.Pending, w.Missing, w.Stuck, w.Reasons)
		}
	}
	return out
}
