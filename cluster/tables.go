package cluster

// tables are the writable side of a Snapshot's contents, owned by one
// goroutine.
type tables struct {
	nodes       *table[Node]
	deployments *table[Deployment]
	endpoints   *table[Endpoints]
	pods        *table[Pod]
	byNode      *table[Pod]
	byOwner     *table[Pod]
	objects     *table[Object]
}

func newTables() *tables {
	return &tables{
		nodes:       newTable(func(a, b *Node) bool { return a.Name < b.Name }),
		deployments: newTable(func(a, b *Deployment) bool { return a.Key.less(b.Key) }),
		endpoints:   newTable(func(a, b *Endpoints) bool { return a.Service.less(b.Service) }),
		pods:        newTable(func(a, b *Pod) bool { return a.Key.less(b.Key) }),
		byNode: newTable(func(a, b *Pod) bool {
			if a.Node != b.Node {
				return a.Node < b.Node
			}
			return a.Key.less(b.Key)
		}),
		byOwner: newTable(func(a, b *Pod) bool {
			if a.Namespace != b.Namespace || a.Deployment == b.Deployment {
				return a.Key.less(b.Key)
			}
			return a.Deployment < b.Deployment
		}),
		objects: newTable((*Object).less),
	}
}

func (t *tables) pod(k Key) *Pod { return keyed(t.pods.view, k) }

// keyed gives the object of this key in a view that is sorted by keys.
func keyed[T any, P interface {
	*T
	id() Key
}](v view[T], k Key) *T {
	if x := v.first(func(x *T) bool { return !P(x).id().less(k) }); x != nil && P(x).id() == k {
		return x
	}
	return nil
}

func (t *tables) setPod(p *Pod) {
	if old := t.pod(p.Key); old != nil {
		if old.Node != p.Node {
			t.byNode.del(old)
		}
		if old.Deployment != p.Deployment {
			t.byOwner.del(old)
		}
	}
	t.pods.set(p)
	t.byNode.set(p)
	t.byOwner.set(p)
}

func (t *tables) delPod(p *Pod) {
	t.pods.del(p)
	t.byNode.del(p)
	t.byOwner.del(p)
}

func (t *tables) freezeInto(s *Snapshot) {
	s.nodes, s.deployments, s.endpoints = t.nodes.freeze(), t.deployments.freeze(), t.endpoints.freeze()
	s.pods, s.byNode, s.byOwner, s.objects = t.pods.freeze(), t.byNode.freeze(), t.byOwner.freeze(), t.objects.freeze()
}
