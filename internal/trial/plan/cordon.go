package plan

// Cordon lets no more pods be put on nodes. It is undone by an Uncordon, or
// without one when the node has returned and at the end of the session.
type Cordon struct{ Nodes []string }

// Kind is "cordon".
func (co *Cordon) Kind() string { return "cordon" }

// Subjects names the nodes.
func (co *Cordon) Subjects() ([]string, string) { return co.Nodes, "" }

func (co *Cordon) title() string { return "cordon " + some(co.Nodes) }

// Text names the nodes to cordon.
func (co *Cordon) Text() string { return "cordon " + list(co.Nodes) }

func (co *Cordon) check(*checker, *Step) {}

// Begin cordons the nodes.
func (co *Cordon) Begin(r Runner, _ string) Poll { return r.Cordon(co.Nodes) }

// Uncordon undoes a Cordon, or the cordon of a Drain, on nodes that the trial has
// cordoned.
type Uncordon struct{ Nodes []string }

// Kind is "uncordon".
func (u *Uncordon) Kind() string { return "uncordon" }

// Subjects names the nodes.
func (u *Uncordon) Subjects() ([]string, string) { return u.Nodes, "" }

func (u *Uncordon) title() string { return "uncordon " + some(u.Nodes) }

// Text names the nodes to uncordon.
func (u *Uncordon) Text() string { return "uncordon " + list(u.Nodes) }

func (u *Uncordon) check(*checker, *Step) {}

// Begin uncordons the nodes.
func (u *Uncordon) Begin(r Runner, _ string) Poll { return r.Uncordon(u.Nodes) }
