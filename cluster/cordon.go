package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeTries is how often a change of a node is tried again when somebody else has changed it in
// between.
const nodeTries = 5

// Cordon makes a node unschedulable. changed reports whether it did: a node that was
// cordoned before stays as it is, and must stay cordoned afterwards. It calls before
// just before the change, so that the caller can write it down; if before returns an
// error, Cordon changes nothing.
func (c *Client) Cordon(ctx context.Context, node string, before func() error) (changed bool, err error) {
	before = sync.OnceValue(before) // also if somebody else changes the node meanwhile
	return c.changeNode(ctx, node, "cordoned", func(n *corev1.Node, p *nodePatch) (bool, error) {
		if n.Spec.Unschedulable {
			return false, nil
		}
		p.Spec = map[string]bool{"unschedulable": true}
		return true, before()
	})
}

// Uncordon makes a node schedulable again that lightsout has cordoned. changed is false
// if the node is schedulable already, or if somebody else has cordoned it since.
// IsGone recognizes the error for a deleted node. See Cordon.
func (c *Client) Uncordon(ctx context.Context, node string) (changed bool, err error) {
	return c.changeNode(ctx, node, "uncordoned", func(n *corev1.Node, p *nodePatch) (bool, error) {
		p.Spec = map[string]bool{"unschedulable": false}
		return n.Spec.Unschedulable && !othersCordon(n), nil
	})
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
		body, _ := json.Marshal(p)
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
