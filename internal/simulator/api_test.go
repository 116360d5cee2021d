package simulator

import (
	"context"
	"errors"
	"time"

	"lightsout/cluster"
	"lightsout/power"
)

// eyes is a process's view of the cluster, as its watches deliver it: late, and not at
// all while the connection to the API server is broken or the process is stopped. It is
// a session.Watcher and a power.NoteStore.
type eyes struct {
	p       *process
	lag     time.Duration
	changed chan struct{}

	last     *cluster.Snapshot
	lastSeen time.Time
	version  uint64
}

func newEyes(p *process, lag time.Duration) *eyes {
	p.seen = time.Now()
	return &eyes{p: p, lag: lag, changed: make(chan struct{}, 1)}
}

// web is the deployment of the trials.
var web = cluster.Key{Namespace: "default", Name: "web"}

// lostAfter is when lightsout detects that a silent link is lost.
const lostAfter = 8 * time.Second

// Snapshot returns the delivered view.
func (e *eyes) Snapshot() *cluster.Snapshot {
	p, w := e.p, e.p.w
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	p.mu.Lock()
	defer p.mu.Unlock()
	up := now.Add(-e.lag)
	switch {
	case p.resume != nil:
		up = p.seen
	case !p.cut.IsZero() && p.cut.Before(up):
		up = p.cut
	}
	if up.After(p.seen) {
		p.seen = up
	}
	if e.last != nil && p.seen.Sub(e.lastSeen) < 100*time.Millisecond && now.Sub(e.last.At) < 100*time.Millisecond {
		return e.last
	}
	e.version++
	c := cluster.Contents{Version: e.version, At: now, Context: "site", Server: "https://10.9.9.9:6443", ServerVersion: "v1.36.3"}
	for _, v := range w.vms {
		c.Nodes = append(c.Nodes, v.node(p.seen, e.lag))
	}
	c.Deployments = []*cluster.Deployment{{Key: web, Replicas: 3, Total: 3, Updated: 3, ReadyReplicas: 3, Available: 3, Word: "Running"}}
	s := cluster.NewSnapshot(c)
	s.Link = cluster.Link{State: cluster.LinkLive, LastContact: p.seen.Add(e.lag)}
	if now.Sub(s.Link.LastContact) > lostAfter {
		s.Link.State, s.Link.Err = cluster.LinkDisconnected, "no answer"
	}
	s.Access = map[cluster.Kind]cluster.Access{}
	for _, k := range cluster.Kinds {
		s.Access[k] = cluster.Access{Synced: true}
	}
	e.last, e.lastSeen = s, p.seen
	return s
}

// Changed never signals: the session checks every second anyway.
func (e *eyes) Changed() <-chan struct{} { return e.changed }

// WantKubelets does nothing: no kubelet answers.
func (e *eyes) WantKubelets(...string) {}

var errNoAPI = errors.New("the API server does not answer")

// Ask waits until everything up to now has been delivered.
func (e *eyes) Confirm(ctx context.Context) error {
	for asked := time.Now(); ; {
		e.Snapshot()
		e.p.mu.Lock()
		seen, broken := e.p.seen, !e.p.cut.IsZero()
		e.p.mu.Unlock()
		switch {
		case broken:
			return errNoAPI
		case !seen.Before(asked):
			return nil
		}
		if err := e.p.wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// Change changes the annotation of a node, and waits until the process sees it.
func (e *eyes) Change(ctx context.Context, node string, change func(string) (string, bool)) error {
	p, w := e.p, e.p.w
	r := w.dice("note " + p.name + node)
	if err := p.wait(ctx, between(r, 2*time.Millisecond, 300*time.Millisecond)); err != nil {
		return err
	}
	put, err := e.annotate(node, change)
	if err != nil || !put {
		return err
	}
	for {
		if n := e.Snapshot().Node(node); n != nil && n.Annotations[power.AnnotationSwitchedOff] != "" {
			return nil
		}
		if err := p.wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// annotate changes what is there now, as an update of its resource version does.
func (e *eyes) annotate(node string, change func(string) (string, bool)) (put bool, err error) {
	for {
		read, err := e.annotation(node)
		if err != nil {
			return false, err
		}
		text, ok := change(read) // which may wait for a disk
		if !ok {
			return false, nil
		}
		put = text != ""
		if done, err := e.update(node, read, text); done || err != nil {
			return put, err
		}
	}
}

func (e *eyes) annotation(node string) (string, error) {
	p, w := e.p, e.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.cut.IsZero() {
		return "", errNoAPI
	}
	return w.vm(node).annotation(), nil
}

// update writes an annotation unless it is no longer what was read.
func (e *eyes) update(node, read, text string) (done bool, err error) {
	p, w := e.p, e.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	v := w.vm(node)
	switch {
	case !p.cut.IsZero():
		return false, errNoAPI
	case !w.mayAnnotate:
		return false, power.ErrMayNot
	case v.annotation() != read:
		return false, nil
	}
	v.annotations = append(v.annotations, marked{time.Now(), text})
	return true, nil
}
