package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// drainPause is between two rounds of a drain, as in kubectl drain
	// (k8s.io/kubectl/pkg/drain).
	drainPause = 5 * time.Second
	// drainLook is the pause between two checks whether evicted pods are gone.
	drainLook = time.Second
	// evictTimeout bounds an eviction: a webhook may take 30 s.
	evictTimeout = 35 * time.Second
)

// DrainProgress is how the drain of one node stands.
type DrainProgress struct {
	// Evicting are pods whose eviction was accepted and that are not gone yet,
	// Held those whose eviction is refused for now, each with one sentence that
	// names the disruption budget.
	Evicting []Key
	Held     map[Key]string
	// Stay lists pods that are not evicted: static ones and those of daemon sets, which
	// belong to the node, and those that nobody would recreate.
	Stay []Key
	// Gone counts the pods that have left.
	Gone int
	// Waiting is why the last round failed, in one sentence; empty if it did not. The other
	// fields are those of the round before then.
	Waiting string
}

// Done reports that nothing is left to go.
func (p DrainProgress) Done() bool {
	return len(p.Evicting) == 0 && len(p.Held) == 0 && p.Waiting == ""
}

// HeldPods are the pods in Held, in order.
func (p DrainProgress) HeldPods() []Key { return slices.SortedFunc(maps.Keys(p.Held), Key.Compare) }

// Drain evicts the pods of a node, which respects disruption budgets, and waits until
// they are gone. It does not cordon. It retries refused evictions, and requests that fail
// only for now, every 5 s. report receives the progress after each round
// and must not block. When ctx ends, the error names in one sentence the pods that are left
// and the disruption budget that holds them, or why the last round failed. Pods that were
// evicted until then stay evicted.
func (c *Client) Drain(ctx context.Context, node string, report func(DrainProgress)) error {
	return newDrain(c, node).run(ctx, report)
}

func newDrain(c *Client, node string) *drain {
	return &drain{c: c, node: node, pause: drainPause, look: drainLook, asked: map[types.UID]bool{}, seen: map[types.UID]bool{}}
}

// drain is one node's.
type drain struct {
	c    *Client
	node string
	last DrainProgress
	// pause and look are between two rounds.
	pause, look time.Duration
	// exact: the list is to be the database's and not the API server's cache's,
	// which may be behind and costs it far less.
	exact bool
	// asked are pods whose eviction was accepted, seen all that were to go.
	asked, seen map[types.UID]bool
}

func (d *drain) run(ctx context.Context, report func(DrainProgress)) error {
	for {
		p, err := d.round(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return d.left(ctx)
		case err != nil && !passes(err):
			return sentence(fmt.Sprintf("node %s can't be drained: %s", d.node, err), err)
		case err != nil:
			p = d.last
			p.Waiting = err.Error()
		case p.Done() && !d.exact:
			d.exact = true // the last word is the database's
			continue
		}
		d.last, d.exact = p, false
		report(p)
		if p.Done() {
			return nil
		}
		pause := d.look
		if len(p.Held) > 0 || p.Waiting != "" {
			pause = d.pause
		}
		select {
		case <-ctx.Done():
			return d.left(ctx)
		case <-time.After(pause):
		}
	}
}

// left returns the reason why a drain is not complete.
func (d *drain) left(ctx context.Context) error {
	why := "lightsout stopped waiting"
	switch p := d.last; {
	case p.Waiting != "":
		why = p.Waiting
	case len(p.Held) > 0:
		why = p.Held[p.HeldPods()[0]]
		if n := len(p.Held) - 1; n > 0 {
			why += fmt.Sprintf(" (and %d more held)", n)
		}
	case len(p.Evicting) > 0:
		why = fmt.Sprintf("its pods are still ending (%d, %s for one)", len(p.Evicting), p.Evicting[0])
	}
	return sentence(fmt.Sprintf("node %s is not drained: %s", d.node, why), context.Cause(ctx))
}

// round requests every outstanding eviction once.
func (d *drain) round(ctx context.Context) (DrainProgress, error) {
	p := DrainProgress{Held: map[Key]string{}}
	var pods corev1.PodList
	opts := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", d.node).String(), ResourceVersion: "0"}
	if d.exact {
		opts.ResourceVersion = ""
	}
	list, cancel := context.WithTimeout(ctx, callTimeout)
	err := d.c.get().Resource("pods").
		VersionedParams(&opts, parameterCodec).
		Do(list).Into(&pods)
	cancel()
	if err != nil {
		return p, sentence("its pods can't be listed: "+d.c.why(ctx, err, "list on pods", ""), err)
	}
	here := map[types.UID]bool{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		key := Key{Namespace: pod.Namespace, Name: pod.Name}
		if !trimPod(pod).leaves() {
			p.Stay = append(p.Stay, key)
			continue
		}
		here[pod.UID], d.seen[pod.UID] = true, true
		if pod.DeletionTimestamp == nil && !d.asked[pod.UID] {
			held, err := d.evict(ctx, pod)
			if err != nil {
				return p, err
			}
			if held != "" {
				p.Held[key] = held
				continue
			}
			d.asked[pod.UID] = true
		}
		p.Evicting = append(p.Evicting, key)
	}
	for uid := range d.seen {
		if !here[uid] {
			p.Gone++
		}
	}
	return p, nil
}

// leaves reports whether a drain evicts the pod: static ones and those of daemon sets belong
// to the node, and nobody would recreate one without a controller.
func (p *Pod) leaves() bool { return !p.Static && p.OwnerKind != "" && p.OwnerKind != "DaemonSet" }

// Drained reports whether a drain of its node evicts the pod, which nobody deletes yet.
func (p *Pod) Drained() bool { return p.Deleting.IsZero() && p.leaves() }

// evict requests one eviction. held is the reason why the server refuses it for now.
func (d *drain) evict(ctx context.Context, pod *corev1.Pod) (held string, err error) {
	eviction := policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		DeleteOptions: metav1.NewPreconditionDeleteOptions(string(pod.UID)),
	}
	ask, cancel := context.WithTimeout(ctx, evictTimeout)
	defer cancel()
	if err = d.c.sameCluster(ask, mainLine); err == nil {
		err = d.c.lines[mainLine].Post().MaxRetries(0).Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
			Body(&eviction).Do(ask).Error()
	}
	what := fmt.Sprintf("pod %s/%s can't be evicted: ", pod.Namespace, pod.Name)
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return "", nil
	case apierrors.IsTooManyRequests(err), apierrors.IsConflict(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return harmless(what + refusal(err)), nil
	case passes(err) && ctx.Err() == nil:
		return harmless(what + d.c.because(ctx, err)), nil
	}
	return "", sentence(what+d.c.why(ctx, err, "create on pods/eviction", ""), err)
}

// refusal is the API server's own word on why it refuses an eviction for now, if possible with the
// budget that holds it (the cause DisruptionBudget, pkg/registry/core/pod/storage/eviction.go).
func refusal(err error) string {
	if cause, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); ok && cause.Message != "" {
		return cause.Message
	}
	return err.Error()
}
