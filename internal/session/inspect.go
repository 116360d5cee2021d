package session

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/survey"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// Inspector reads single objects and logs for the operator; cluster.Client is
// one. Safe for use by several goroutines.
type Inspector interface {
	Describe(ctx context.Context, ref cluster.Ref) (*cluster.Description, error)
	List(ctx context.Context, kind string, namespaces []string) (*cluster.Listing, error)
	PodLog(ctx context.Context, o cluster.LogOptions) (io.ReadCloser, error)
}

const (
	// describeWithin bounds the reading of an object, describeAgain how soon it
	// is read again after it has changed.
	describeWithin = 10 * time.Second
	describeAgain  = 2 * time.Second
)

// inspections reads the object that the operator inspects, one at a time.
type inspections struct {
	*loop

	wanted  view.Inspect
	shown   *view.Inspection   // without the log; nil until the first answer
	reading context.Context    // for wanted
	cancel  context.CancelFunc // cancels reading
	asking  bool
	asked   time.Time
	seen    any // the object in the snapshot at the last request
	log     *logTail
}

// ask switches to another object.
func (l *inspections) ask(wanted view.Inspect) {
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
	l.wanted, l.shown, l.log, l.asking = wanted, nil, nil, false
	switch {
	case wanted == view.Inspect{}:
	case l.opt.Inspect == nil, l.snapshot == nil && wanted.Survey > 0:
		l.shown = &view.Inspection{Inspect: wanted, Err: "there is no cluster to query"}
	default:
		l.reading, l.cancel = context.WithCancel(l.loop.ctx)
		l.read()
	}
}

// refresh reads an object again that has changed since.
func (l *inspections) refresh() {
	if l.cancel != nil && l.wanted.List == "" && !l.asking && l.now().Sub(l.asked) >= describeAgain && l.object() != l.seen {
		l.read()
	}
}

// object returns the inspected object from the snapshot; nil if lightsout does not
// watch its kind.
func (l *inspections) object() any {
	if l.snapshot == nil {
		return nil
	}
	switch of := l.wanted.Of; of.Kind {
	case cluster.KindNode:
		return l.snapshot.Node(of.Name)
	case cluster.KindPod:
		return l.snapshot.Pod(of.Key)
	case cluster.KindDeployment:
		return l.snapshot.Deployment(of.Key)
	}
	w := l.snapshot.Workload(l.wanted.Of)
	if w == nil {
		return nil
	}
	return *w // the pointers of jobs and services differ each time
}

// read requests the object, and then its log if the screen shows it; or the list of a kind.
func (l *inspections) read() {
	l.asking, l.asked, l.seen = true, l.now(), l.object()
	reading, wanted, s := l.reading, l.wanted, l.snapshot
	next := &view.Inspection{Inspect: wanted}
	async(l.loop, describeWithin, func(ctx context.Context) (err error) {
		switch {
		case wanted.Survey > 0:
			next.Lines, err = l.survey(reading, s, wanted)
		case wanted.List != "":
			namespaces := strings.FieldsFunc(wanted.Namespaces, func(r rune) bool { return r == ',' })
			next.Listing, err = l.opt.Inspect.List(ctx, wanted.List, namespaces)
		default:
			next.Object, err = l.opt.Inspect.Describe(ctx, wanted.Of)
		}
		return err
	}, func(err error) {
		if reading.Err() == nil { // otherwise the operator inspects another object
			l.told(next, err)
		}
	})
}

// survey writes the requested survey of a snapshot; it ends with ctx.
func (l *inspections) survey(ctx context.Context, s *cluster.Snapshot, of view.Inspect) ([]string, error) {
	if why := survey.WhyUnknown(s); why != "" {
		return nil, errors.New("lightsout cannot forecast where pods go: " + why)
	}
	left, unread := l.opt.Journal.LeftOff()
	off := text.Each(left, func(m power.LeftOff) string { return m.Node })
	r, err := survey.Make(ctx, s, survey.Options{Pairs: of.Pairs, Together: strings.Fields(of.Together), Off: off})
	if err != nil {
		return nil, err
	}
	return r.Lines(of.Survey), unread
}

// told stores an answer; after an error the screen keeps the object.
func (l *inspections) told(next *view.Inspection, err error) {
	l.asking, next.At = false, l.asked
	if err != nil {
		next.Err = err.Error()
		if l.shown != nil {
			next.Object = l.shown.Object
		}
	}
	l.shown = next
	if l.wanted.Log && l.log == nil && err == nil {
		l.readLog(next.Object)
	}
}

// readLog follows the log of the requested container; otherwise of the first container
// that does not end before the others start.
func (l *inspections) readLog(object *cluster.Description) {
	o := cluster.LogOptions{Pod: l.wanted.Of.Key, Container: l.wanted.Container, Previous: l.wanted.Previous, Lines: logLines}
	if i := slices.IndexFunc(object.Containers, func(c cluster.Container) bool { return !c.Init }); o.Container == "" && i >= 0 {
		o.Container = object.Containers[i].Name
	}
	// A kubelet sends nothing before the first line: only the silence of its node shows
	// that it does not answer.
	o.Patient = !l.silent(l.wanted.Of.Key)
	ctx, log := l.reading, &logTail{changed: l.inbox.wake}
	l.log = log
	l.work.Go(func() {
		body, err := l.opt.Inspect.PodLog(ctx, o)
		if err == nil {
			err = log.read(body)
			body.Close()
		}
		if ctx.Err() == nil {
			log.turn(view.StreamEnded, err)
		}
	})
}

// silent reports whether the node of a pod is silent, or unknown.
func (l *inspections) silent(pod cluster.Key) bool {
	if l.snapshot == nil {
		return true
	}
	p := l.snapshot.Pod(pod)
	return p == nil || l.snapshot.Node(p.Node) == nil || silent(l.snapshot, p.Node, l.now())
}

// newest returns the present inspection, with the log's newest lines.
func (l *inspections) newest() *view.Inspection {
	if l.shown == nil {
		return nil
	}
	next := *l.shown
	if l.log != nil {
		l.log.put(&next)
	}
	return &next
}
