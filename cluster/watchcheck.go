package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bounds of Stale.
const (
	// staleAfter is how long after the API server's answer a change may arrive by the
	// watch.
	staleAfter = 5 * time.Second
	// staleSample bounds the objects of each kind that are compared.
	staleSample = 500
	// staleBytes bounds one answer.
	staleBytes = 16 << 20
)

// comparedKinds are those that a trial judges by, except nodes and Leases: Ask compares
// nodes, and a node whose Lease stays old counts as silent.
var comparedKinds = []Kind{KindPod, KindReplicaSet, KindDeployment, KindEndpointSlice}

// Stale lists the pods, ReplicaSets, Deployments and EndpointSlices of a namespace and
// returns the kinds of which the watch does not deliver what the API server has: a watch
// can be stuck on a connection that works, in a proxy for instance. Stale makes the
// Watcher open these watches again, from where they stopped. It compares at most 500
// objects of each kind. The error is the reason why a list failed.
func (w *Watcher) Stale(ctx context.Context, namespace string) ([]Kind, error) {
	var stale []Kind
	var failed error
	for _, src := range *w.running.Load() {
		c := comparison{w, src, namespace}
		if !c.concerns() {
			continue
		}
		late, err := c.late(ctx)
		if late {
			stale = append(stale, src.kind)
			src.reopen()
		}
		failed = errors.Join(failed, err)
	}
	return stale, failed
}

// comparison compares what one source has delivered of a namespace with the API server.
type comparison struct {
	w         *Watcher
	src       *source
	namespace string
}

// concerns reports whether the source follows objects of the namespace that are compared,
// and has read them.
func (c comparison) concerns() bool {
	return slices.Contains(comparedKinds, c.src.kind) && (c.src.namespace == "" || c.src.namespace == c.namespace) &&
		c.w.Snapshot().Access[c.src.kind].Synced
}

// late reports whether changes that the API server had made before it answered have not
// arrived within staleAfter.
func (c comparison) late(ctx context.Context) (bool, error) {
	before := c.w.Snapshot().Pods()
	list, err := c.list(ctx)
	if err != nil {
		return false, err
	}
	var newest uint64
	there := make(map[string]bool, len(list.Items))
	last := ""
	for _, o := range list.Items {
		there[string(o.UID)] = true
		last = max(last, o.Name)
		if v, err := strconv.ParseUint(o.ResourceVersion, 10, 64); err == nil {
			newest = max(newest, v)
		}
	}
	// The API server lists a namespace in the order of names.
	missing := func(p *Pod) bool {
		return !there[p.UID] && (list.Continue == "" || p.Name <= last) && c.shows(p)
	}
	arrived := func() bool {
		return c.src.delivered.Load() >= newest && (c.src.kind != KindPod || !slices.ContainsFunc(before, missing))
	}
	// Counted pauses, because lightsout itself may be stopped meanwhile.
	for range staleAfter / compareAgain {
		if arrived() {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(compareAgain):
		}
	}
	return !arrived(), nil
}

// shows reports whether the newest Snapshot has a pod of the namespace that was not
// deleted.
func (c comparison) shows(p *Pod) bool {
	if p.Namespace != c.namespace || !p.Gone.IsZero() {
		return false
	}
	now := c.w.Snapshot().Pod(p.Key)
	return now != nil && now.UID == p.UID && now.Gone.IsZero()
}

// list lists the metadata of the source's objects in the namespace.
func (c comparison) list(ctx context.Context) (*metav1.PartialObjectMetadataList, error) {
	only := &source{kind: c.src.kind, resource: c.src.resource, namespace: c.namespace, selector: c.src.selector, fields: c.src.fields}
	r := c.w.request(only, metav1.ListOptions{Limit: staleSample}).
		SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
	body, err := read(ctx, r, staleBytes)
	if err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{}
	return list, json.Unmarshal(body, list)
}
