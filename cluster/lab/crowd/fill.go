package crowd

import (
	"bytes"
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	fillers = 8   // that write at once
	batch   = 100 // objects in one transaction; etcd's limit is 128
)

// Fill puts the objects of a cluster of this size into the etcd at endpoint. The
// error names what could not be written.
func Fill(ctx context.Context, endpoint string, size Size) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("reach etcd at %s: %w", endpoint, err)
	}
	defer client.Close()
	c := crowd{size, metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))}
	g, ctx := errgroup.WithContext(ctx)
	for worker := range fillers {
		g.Go(func() error {
			w := writer{ctx: ctx, client: client, encode: protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)}
			c.write(&w, worker)
			return w.flush()
		})
	}
	return g.Wait()
}

// write writes every fillers-th of each kind; the pods with their deployments.
func (c crowd) write(w *writer, first int) {
	for i := first; i < c.Namespaces; i += fillers {
		o := c.namespace(i)
		w.put("namespaces/"+o.Name, o)
	}
	for i := first; i < c.Nodes; i += fillers {
		o := c.node(i)
		w.put("minions/"+o.Name, o)
		w.put("leases/"+leaseNamespace+"/"+o.Name, c.lease(i))
	}
	for d := first; d < c.Deployments; d += fillers {
		n := c.Pods / c.Deployments
		if d < c.Pods%c.Deployments {
			n++
		}
		dep, set := c.deployment(d, int32(n))
		w.put("deployments/"+dep.Namespace+"/"+dep.Name, dep)
		w.put("replicasets/"+set.Namespace+"/"+set.Name, set)
		for k := range n {
			p := c.pod(d+k*c.Deployments, set)
			w.put("pods/"+p.Namespace+"/"+p.Name, p)
		}
	}
}

// writer puts objects into etcd as the API server does, many in a transaction.
type writer struct {
	ctx    context.Context
	client *clientv3.Client
	encode *protobuf.Serializer
	ops    []clientv3.Op
	err    error // the first
}

func (w *writer) put(key string, o runtime.Object) {
	if w.err != nil {
		return
	}
	var b bytes.Buffer
	if err := w.encode.Encode(o, &b); err != nil {
		w.err = fmt.Errorf("encode %s: %w", key, err)
		return
	}
	w.ops = append(w.ops, clientv3.OpPut("/registry/"+key, b.String()))
	if len(w.ops) == batch {
		w.commit()
	}
}

func (w *writer) commit() {
	if _, err := w.client.Txn(w.ctx).Then(w.ops...).Commit(); err != nil && w.err == nil {
		w.err = fmt.Errorf("write %d objects to etcd: %w", len(w.ops), err)
	}
	w.ops = w.ops[:0]
}

// flush writes what is left, and gives the first error there was.
func (w *writer) flush() error {
	if len(w.ops) > 0 && w.err == nil {
		w.commit()
	}
	return w.err
}
