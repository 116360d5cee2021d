package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// nodeTries is how often a change of a node is tried again when somebody
	// else has changed it in between.
	nodeTries = 5
	// drainPause is between two rounds of a drain, as in kubectl drain
	// (k8s.io/kubectl/pkg/drain).
	drainPause = 5 * time.Second
	// drainLook is the pause between two checks whether evicted pods are gone.
	drainLook = time.Second
	// evictTimeout bounds an eviction: a webhook may take 30 s.
	evictTimeout = 35 * time.Second
)

// Cordon makes a node unschedulable. changed reports whether it did: a node that was
// cordoned before stays as it is, and must stay cordoned afterwards. It calls before
// just before the change, so that the caller can write it down; if before returns an
// error, Cordon changes nothing.
func (c *Client) Cordon(ctx context.Context, node string, before func() error) (changed bool, err error) {
	return c.setSchedulable(ctx, node, "cordoned", false, before)
}

// Uncordon makes a node schedulable again that lightsout has cordoned. changed is false
// if the node is schedulable already, or if somebody else has cordoned it since.
// IsGone recognizes the error for a deleted node. See Cordon.
func (c *Client) Uncordon(ctx context.Context, node string) (changed bool, err error) {
	return c.setSchedulable(ctx, node, "uncordoned", true, nil)
}

// Annotate sets an annotation of a node, or removes it if the new value is empty. It
// passes the old value to change, which returns the new one and whether to write it; it
// calls change again if somebody else has changed the node meanwhile. IsGone recognizes
// the error for a deleted node, IsForbidden the one for a missing right.
func (c *Client) Annotate(ctx context.Context, node, key string, change func(had string) (value string, set bool)) error {
	_, err := c.changeNode(ctx, node, "annotated", func(n *corev1.Node, p *nodePatch) (bool, error) {
		value, set := change(n.Annotations[key])
		p.Metadata.Annotations = map[string]*string{key: &value}
		if value == "" {
			p.Metadata.Annotations[key] = nil
		}
		return set && value != n.Annotations[key], nil
	})
	return err
}

// IsForbidden reports whether an error of Cordon, Annotate or PodLog means that the account
// lacks the right.
func IsForbidden(err error) bool { return apierrors.IsForbidden(err) }

// IsGone reports whether an error of Cordon or Uncordon means that the node does not
// exist.
func IsGone(err error) bool { return apierrors.IsNotFound(err) }

func (c *Client) setSchedulable(ctx context.Context, node, verb string, schedulable bool, before func() error) (bool, error) {
	return c.changeNode(ctx, node, verb, func(n *corev1.Node, p *nodePatch) (bool, error) {
		if n.Spec.Unschedulable == !schedulable || schedulable && othersCordon(n) {
			return false, nil
		}
		p.Spec = map[string]bool{"unschedulable": !schedulable}
		if before == nil {
			return true, nil
		}
		once := before
		before = nil // it is asked again when somebody else has changed the node
		return true, once()
	})
}

// nodePatch is a change of a node: a merge patch, where null takes away.
type nodePatch struct {
	Metadata struct {
		// The version, so that nobody else's change is taken for ours.
		ResourceVersion string             `json:"resourceVersion"`
		Annotations     map[string]*string `json:"annotations,omitempty"`
	} `json:"metadata"`
	Spec map[string]bool `json:"spec,omitempty"`
}

// changeNode changes a node if change returns true. It calls change again if somebody
// else has changed the node meanwhile.
func (c *Client) changeNode(ctx context.Context, node, verb string, change func(n *corev1.Node, p *nodePatch) (bool, error)) (changed bool, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	for range nodeTries {
		if err = c.sameCluster(ctx, mainLine); err != nil {
			break
		}
		var n corev1.Node
		if err = c.get().Resource("nodes").Name(node).Do(ctx).Into(&n); err != nil {
			break
		}
		var p nodePatch
		if changed, err := change(&n, &p); !changed || err != nil {
			return false, err
		}
		p.Metadata.ResourceVersion = n.ResourceVersion
		body, merr := json.Marshal(p)
		if merr != nil {
			return false, merr
		}
		err = c.lines[mainLine].Patch(types.MergePatchType).MaxRetries(0).Resource("nodes").Name(node).
			VersionedParams(&metav1.PatchOptions{FieldManager: fieldManager}, parameterCodec).
			Body(body).Do(ctx).Error()
		if err == nil {
			return true, nil
		}
		if !apierrors.IsConflict(err) {
			break
		}
	}
	why := c.why(ctx, err, "get and patch on nodes", "it does not exist")
	return false, sentence(fmt.Sprintf("node %s can't be %s: %s", harmless(node), verb, why), err)
}

// fieldManager identifies lightsout in the managedFields of the objects that it changes.
const fieldManager = "lightsout"

// othersCordon reports whether another program, and not lightsout, has made a node
// unschedulable: the API server records in managedFields who set each field.
func othersCordon(n *corev1.Node) bool {
	others := false
	for _, m := range n.ManagedFields {
		var set struct {
			Spec struct {
				Unschedulable *struct{} `json:"f:unschedulable"`
			} `json:"f:spec"`
		}
		if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &set) != nil || set.Spec.Unschedulable == nil {
			continue
		}
		if m.Manager == fieldManager {
			return false
		}
		others = true
	}
	return others
}

// DrainProgress is how the drain of one node stands.
type DrainProgress struct {
	Node string
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
// only for now, every 5 s. It ends with an error when somebody uncordons the node. report,
// which may be nil, receives the progress after each round and must not block. When ctx ends,
// the error names in one sentence the pods that are left and the disruption budget that holds
// them, or why the last round failed. Pods that were evicted until then stay evicted.
func (c *Client) Drain(ctx context.Context, node string, report func(DrainProgress)) error {
	return newDrain(c, node).run(ctx, report)
}

func newDrain(c *Client, node string) *drain {
	return &drain{c: c, node: node, pause: drainPause, look: drainLook, asked: map[types.UID]bool{}, seen: map[types.UID]bool{}}
}

func (d *drain) run(ctx context.Context, report func(DrainProgress)) error {
	for {
		if d.uncordoned(ctx) {
			return sentence(fmt.Sprintf("node %s is not drained: somebody has uncordoned it, so the scheduler places pods on it again", d.node), nil)
		}
		p, err := d.round(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return d.left(ctx)
		case err != nil && !passes(err):
			return err
		case err != nil:
			d.trouble = err
			if report != nil {
				waiting := d.last
				waiting.Node, waiting.Waiting = d.node, d.why
				report(waiting)
			}
			if !d.wait(ctx, d.pause) {
				return d.left(ctx)
			}
			continue
		}
		d.trouble = nil
		if p.Done() && !d.exact {
			d.exact = true // the last word is the database's
			continue
		}
		d.last, d.exact = p, false
		if report != nil {
			report(p)
		}
		if p.Done() {
			return nil
		}
		pause := d.look
		if len(p.Held) > 0 {
			pause = d.pause
		}
		if !d.wait(ctx, pause) {
			return d.left(ctx)
		}
	}
}

// wait waits between two rounds; false if ctx ended meanwhile.
func (d *drain) wait(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// drain is one node's.
type drain struct {
	c    *Client
	node string
	last DrainProgress
	// trouble is the error of the last round; nil if it had none. why is its reason alone.
	trouble error
	why     string
	// pause and look are between two rounds.
	pause, look time.Duration
	// exact: the list is to be the database's and not the API server's cache's,
	// which may be behind and costs it far less.
	exact bool
	// cordoned: the node was cordoned at the last check.
	cordoned bool
	// asked are pods whose eviction was accepted, seen all that were to go.
	asked, seen map[types.UID]bool
}

// uncordoned reports whether somebody uncordoned the node during the drain: the
// scheduler would put each evicted pod back on it.
func (d *drain) uncordoned(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var n corev1.Node
	if d.c.get().Resource("nodes").Name(d.node).Do(ctx).Into(&n) != nil {
		return false // the round reports the error
	}
	was := d.cordoned
	d.cordoned = n.Spec.Unschedulable
	return was && !d.cordoned
}

// left returns the reason why a drain is not complete.
func (d *drain) left(ctx context.Context) error {
	if d.trouble != nil {
		return sentence(d.trouble.Error(), context.Cause(ctx))
	}
	what := fmt.Sprintf("node %s is not drained", d.node)
	p := d.last
	switch {
	case len(p.Held) > 0:
		what += ": " + p.Held[p.HeldPods()[0]]
		if n := len(p.Held) - 1; n > 0 {
			what += fmt.Sprintf(" (and %d more held)", n)
		}
		return sentence(what, context.Cause(ctx))
	case len(p.Evicting) > 0:
		return sentence(fmt.Sprintf("%s: its pods are still ending (%d, %s for one)", what, len(p.Evicting), p.Evicting[0]), context.Cause(ctx))
	}
	return sentence(what+": lightsout stopped waiting", context.Cause(ctx))
}

// round requests every outstanding eviction once.
func (d *drain) round(ctx context.Context) (DrainProgress, error) {
	p := DrainProgress{Node: d.node, Held: map[Key]string{}}
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
		return p, d.failed(ctx, "its pods can't be listed: ", "list on pods", err)
	}
	here := map[types.UID]bool{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		key := Key{Namespace: pod.Namespace, Name: pod.Name}
		if stays(pod) {
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

// hasLocalData reports whether a pod has an emptyDir.
func hasLocalData(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
}

// stays reports whether a pod is left on the node that is drained.
func stays(pod *corev1.Pod) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	kind := ""
	if owner := metav1.GetControllerOf(pod); owner != nil {
		kind = owner.Kind
	}
	return !drained(mirror, kind)
}

// drained reports whether a drain evicts a pod: static ones and those of daemon sets belong
// to the node, and nobody would recreate one without a controller.
func drained(static bool, ownerKind string) bool {
	return !static && ownerKind != "" && ownerKind != "DaemonSet"
}

// Drained reports whether a drain of its node evicts the pod, which nobody deletes yet.
func (p *Pod) Drained() bool { return p.Deleting.IsZero() && drained(p.Static, p.OwnerKind) }

// evict requests one eviction. held is the reason why the server refuses it for now.
func (d *drain) evict(ctx context.Context, pod *corev1.Pod) (held string, err error) {
	body, err := json.Marshal(&policyv1.Eviction{
		TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta:    metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		DeleteOptions: metav1.NewPreconditionDeleteOptions(string(pod.UID)),
	})
	if err != nil {
		return "", err
	}
	ask, cancel := context.WithTimeout(ctx, evictTimeout)
	defer cancel()
	if err = d.c.sameCluster(ask, mainLine); err == nil {
		err = d.c.lines[mainLine].Post().MaxRetries(0).Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
			SetHeader("Content-Type", "application/json").Body(body).Do(ask).Error()
	}
	what := fmt.Sprintf("pod %s/%s can't be evicted", pod.Namespace, pod.Name)
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return "", nil
	case apierrors.IsConflict(err): // another pod of its name, or the update of its budget
		return harmless(fmt.Sprintf("%s: %s", what, flat(err))), nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return harmless(fmt.Sprintf("%s: its namespace is being deleted", what)), nil
	case apierrors.IsTooManyRequests(err):
		return harmless(fmt.Sprintf("%s: %s", what, budget(err))), nil
	case passes(err) && ctx.Err() == nil:
		return harmless(fmt.Sprintf("%s: %s", what, d.c.why(ctx, err, "", ""))), nil
	}
	return "", d.failed(ctx, what+": ", "create on pods/eviction", err)
}

// budget is the API server's own word on which budget holds an eviction (the
// cause DisruptionBudget, pkg/registry/core/pod/storage/eviction.go).
func budget(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "the API server asks to wait"
	}
	s := status.Status()
	if s.Details != nil {
		for _, c := range s.Details.Causes {
			if c.Type == "DisruptionBudget" && c.Message != "" {
				return lowerFirst(c.Message)
			}
		}
	}
	return lowerFirst(s.Message)
}

func lowerFirst(s string) string {
	if s == "" {
		return "the API server asks to wait"
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// failed returns the error of a drain; need is the right without which the API server
// forbids the request.
func (d *drain) failed(ctx context.Context, what, need string, err error) error {
	d.why = harmless(what + d.c.why(ctx, err, need, ""))
	return sentence(fmt.Sprintf("node %s can't be drained: %s", d.node, d.why), err)
}
