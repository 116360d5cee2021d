package cluster

// Builder makes Snapshots of contents that change a little at a time, as in a replay:
// Snapshots share unchanged parts. One goroutine may use a Builder; any number may use
// its Snapshots.
type Builder struct{ t *tables }

// NewBuilder makes a Builder without contents.
func NewBuilder() *Builder { return &Builder{newTables()} }

// Set puts the objects of c in, each in the place of the one with its key if there is one. They
// must not be changed afterwards. A nil one, as of a record that somebody edited, is left out.
func (b *Builder) Set(c Contents) {
	each(c.Nodes, b.SetNode)
	each(c.Deployments, b.setDeployment)
	each(c.Endpoints, b.t.endpoints.set)
	each(c.Pods, b.SetPod)
	each(c.Objects, b.t.objects.set)
}

func each[T any](all []*T, put func(*T)) {
	for _, x := range all {
		if x != nil {
			put(x)
		}
	}
}

// SetNode puts n in like Set.
func (b *Builder) SetNode(n *Node) { b.t.nodes.set(n) }

// Node gives the node of that name; nil if there is none.
func (b *Builder) Node(name string) *Node { return keyed(b.t.nodes.view, Key{Name: name}) }

// setDeployment puts d in like Set. One without a Word is given one, on a copy.
func (b *Builder) setDeployment(d *Deployment) {
	if d.Word == "" {
		x := *d
		x.Word = deploymentWord(&x)
		d = &x
	}
	b.t.deployments.set(d)
}

// SetPod puts p in like Set.
func (b *Builder) SetPod(p *Pod) { b.t.setPod(p) }

// DropNode takes a node out.
func (b *Builder) DropNode(name string) { b.t.nodes.del(&Node{Name: name}) }

// DropDeployment takes a deployment out.
func (b *Builder) DropDeployment(k Key) { b.t.deployments.del(&Deployment{Key: k}) }

// DropPod takes a pod out.
func (b *Builder) DropPod(k Key) {
	if p := b.t.pod(k); p != nil {
		b.t.delPod(p)
	}
}

// DropEndpoints takes the endpoints of a service out.
func (b *Builder) DropEndpoints(service Key) { b.t.endpoints.del(&Endpoints{Service: service}) }

// Snapshot returns the builder's current objects; all other fields come from c.
func (b *Builder) Snapshot(c Contents) *Snapshot {
	c.Nodes, c.Deployments, c.Pods, c.Endpoints, c.Objects = nil, nil, nil, nil, nil
	s := &Snapshot{contents: c, SettingsRead: true}
	if s.Access == nil {
		s.Access = map[Kind]Access{}
	}
	s.Settings = s.Settings.or(DefaultSettings(c.ServerVersion))
	b.t.freezeInto(s)
	return s
}
