package cluster

// Builder makes Snapshots of contents that change a little at a time, as in a replay:
// Snapshots share unchanged parts. One goroutine may use a Builder; any number may use
// its Snapshots.
type Builder struct{ t *tables }

// NewBuilder makes a Builder without contents.
func NewBuilder() *Builder { return &Builder{newTables()} }

// SetNode puts n in, in the place of the node of its name if there is one. n
// must not be changed afterwards.
func (b *Builder) SetNode(n *Node) { b.t.nodes.set(n) }

// Node gives the node of that name; nil if there is none.
func (b *Builder) Node(name string) *Node { return keyed(b.t.nodes.view, Key{Name: name}) }

// SetDeployment puts d in like SetNode. One without a Word is given one, on a
// copy.
func (b *Builder) SetDeployment(d *Deployment) {
	if d.Word == "" {
		x := *d
		x.Word = deploymentWord(&x)
		d = &x
	}
	b.t.deployments.set(d)
}

// SetPod puts p in like SetNode.
func (b *Builder) SetPod(p *Pod) { b.t.setPod(p) }

// SetEndpoints puts e in like SetNode.
func (b *Builder) SetEndpoints(e *Endpoints) { b.t.endpoints.set(e) }

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
