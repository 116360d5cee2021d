package session

import (
	"context"
	"io"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// Inspector reads single objects and logs for the operator; cluster.Client is
// one. Safe for use by several goroutines.
type Inspector interface {
	Describe(ctx context.Context, ref cluster.Ref) (*cluster.Description, error)
	PodLog(ctx context.Context, o cluster.LogOptions) (io.ReadCloser, error)
}

const (
	// describeWithin bounds the reading of an object, describeAgain how soon it
	// is read again after it has changed.
	describeWithin = 10 * time.Second
	describeAgain  = 2 * time.Second
)

// looks reads what the operator looks at, one thing at a time.
type looks struct {
	*loop

	look   view.Look
	shown  *view.Looked // nil while nothing has been told
	ctx    context.Context
	cancel context.CancelFunc // ends the reading of look
	asking bool
	asked  time.Time
	seen   any // the object in the snapshot when it was asked for
	log    *logTail
}

// ask begins to look at something else.
func (l *looks) ask(look view.Look) {
	l.close()
	l.look, l.shown, l.log, l.asking = look, nil, nil, false
	switch {
	case look == view.Look{}:
	case l.opt.Inspect == nil:
		l.shown = &view.Looked{Look: look, Err: "there is no cluster to be asked"}
	default:
		l.ctx, l.cancel = context.WithCancel(l.loop.ctx)
		l.describe()
	}
}

// close ends what is being read.
func (l *looks) close() {
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
}

// refresh reads an object again that has changed since.
func (l *looks) refresh() {
	if l.cancel != nil && !l.asking && l.now().Sub(l.asked) >= describeAgain && l.object() != l.seen {
		l.describe()
	}
}

// object is what is looked at as the snapshot has it; nil for what is not watched.
func (l *looks) object() any {
	if l.snapshot == nil {
		return nil
	}
	switch of := l.look.Of; of.Kind {
	case cluster.KindNode:
		return l.snapshot.Node(of.Name)
	case cluster.KindPod:
		return l.snapshot.Pod(of.Key)
	case cluster.KindDeployment:
		return l.snapshot.Deployment(of.Key)
	}
	return nil
}

// describe asks for the object, and then for its log where that is wanted.
func (l *looks) describe() {
	l.asking, l.asked, l.seen = true, l.now(), l.object()
	ctx, of := l.ctx, l.look.Of
	l.spawn(func() {
		within, cancel := context.WithTimeout(ctx, describeWithin)
		defer cancel()
		object, err := l.opt.Inspect.Describe(within, of)
		post(l.loop, err, func(err error) {
			if ctx.Err() == nil { // else something else is looked at
				l.asking = false
				l.told(object, err)
			}
		})
	})
}

// told takes in what is known of the object.
func (l *looks) told(object *cluster.Description, err error) {
	next := view.Looked{Look: l.look, At: l.now(), Object: object}
	if l.shown != nil {
		next.Lines, next.Cut, next.Ended = l.shown.Lines, l.shown.Cut, l.shown.Ended
		if err != nil {
			next.Object = l.shown.Object
		}
	}
	if err != nil {
		next.Err = err.Error()
	}
	l.shown = &next
	if l.look.Log && l.log == nil && object != nil {
		l.readLog(object)
	}
}

// readLog follows the log of the container that is wanted, or else of the first
// that is not over before the others begin.
func (l *looks) readLog(object *cluster.Description) {
	o := cluster.LogOptions{Pod: l.look.Of.Key, Container: l.look.Container, Previous: l.look.Previous, Lines: logLines}
	if i := slices.IndexFunc(object.Containers, func(c cluster.Container) bool { return !c.Init }); o.Container == "" && i >= 0 {
		o.Container = object.Containers[i].Name
	}
	ctx, log := l.ctx, &logTail{changed: l.inbox.wake}
	l.log = log
	l.spawn(func() {
		body, err := l.opt.Inspect.PodLog(ctx, o)
		if err == nil {
			err = log.read(body)
			body.Close()
		}
		if ctx.Err() == nil {
			log.end(err)
		}
	})
}

// newest is what is shown now, with the log's newest lines.
func (l *looks) newest() *view.Looked {
	if l.log != nil {
		next := *l.shown
		if next.At = l.now(); l.log.take(&next) {
			l.shown = &next
		}
	}
	return l.shown
}
