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
	for _, src := range w.compared(namespace) {
		late, err := w.late(ctx, src, namespace)
		if late {
			stale = append(stale, src.kind)
			src.reopen()
		}
		failed = errors.Join(failed, err)
	}
	return stale, failed
}

// compared returns the sources whose watches Stale compares.
func (w *Watcher) compared(namespace string) (out []*source) {
	for _, src := range *w.running.Load() {
		if slices.Contains(comparedKinds, src.kind) && (src.namespace == "" || src.namespace == namespace) && w.Snapshot().Access[src.kind].Synced {
			out = append(out, src)
		}
	}
	return out
}

// late reports whether changes that the API server had made before it answered have not
// arrived within staleAfter.
func (w *Watcher) late(ctx context.Context, src *source, namespace string) (bool, error) {
	before := w.Snapshot().Pods()
	list, err := w.listMetadata(ctx, src, namespace)
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
		return !there[p.UID] && (list.Continue == "" || p.Name <= last) && w.shows(p, namespace)
	}
	arrived := func() bool {
		return src.delivered.Load() >= newest && (src.kind != KindPod || !slices.ContainsFunc(before, missing))
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
func (w *Watcher) shows(p *Pod, namespace string) bool {
	if p.Namespace != namespace || !p.Gone.IsZero() {
		return false
	}
	now := w.Snapshot().Pod(p.Key)
	return now != nil && now.UID == p.UID && now.Gone.IsZero()
}

// listMetadata lists the metadata of a source's objects in one namespace.
func (w *Watcher) listMetadata(ctx context.Context, src *source, namespace string) (*metav1.PartialObjectMetadataList, error) {
	only := &source{kind: src.kind, resource: src.resource, namespace: namespace, selector: src.selector, fields: src.fields}
	r := w.request(only, metav1.ListOptions{Limit: staleSample}).
		SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
	body, err := read(ctx, r, staleBytes)
	if err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{}
	return list, json.Unmarshal(body, list)
}
