package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/power"
)

// shelf is an Inspector with one pod on it.
type shelf struct {
	mu    sync.Mutex
	asked []cluster.LogOptions
	log   func(ctx context.Context) io.Reader
}

var shelved = cluster.Ref{Kind: cluster.KindPod, Key: cluster.Key{Namespace: "default", Name: "llm-1-0"}}

func (s *shelf) Describe(_ context.Context, ref cluster.Ref) (*cluster.Description, error) {
	if ref != shelved {
		return nil, errors.New(ref.String() + " is not on the shelf")
	}
	return &cluster.Description{Containers: []cluster.Container{{Name: "setup", Init: true}, {Name: "llama"}, {Name: "queue-proxy"}}}, nil
}

func (s *shelf) List(_ context.Context, kind string, namespaces []string) (*cluster.Listing, error) {
	if kind != "pdb" {
		return nil, errors.New("the API server serves no kind " + kind)
	}
	return &cluster.Listing{Title: kind, Columns: namespaces}, nil
}

func (s *shelf) PodLog(ctx context.Context, o cluster.LogOptions) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, o)
	if o.Previous {
		return nil, errors.New("there is none before it")
	}
	return io.NopCloser(s.log(ctx)), nil
}

// endless gives a text, and then nothing until ctx ends.
func endless(text string) func(context.Context) io.Reader {
	return func(ctx context.Context) io.Reader {
		r, w := io.Pipe()
		context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
		return io.MultiReader(strings.NewReader(text), r)
	}
}

func TestTheSessionReportsTheInspectedObject(t *testing.T) {
	t.Parallel()
	s := &shelf{log: endless("one\n\x1b[31mtwo\x1b[0m\n")}
	x := startEmpty(t, session.Options{Inspect: s})
	looked := func(what string, ok func(*view.Inspection) bool) *view.Inspection {
		return x.frame(what, func(f *view.Frame) bool { return f.Inspection != nil && ok(f.Inspection) }).Inspection
	}
	x.Send(view.Inspect{Of: shelved})
	looked("the pod", func(l *view.Inspection) bool { return l.Object != nil && len(l.Object.Containers) == 3 })
	x.Send(view.Inspect{Of: cluster.Ref{Kind: cluster.KindNode, Key: cluster.Key{Name: "elsewhere"}}})
	looked("the reason why it cannot be read", func(l *view.Inspection) bool { return strings.Contains(l.Err, "not on the shelf") })
	x.Send(view.Inspect{Of: shelved, Log: true})
	looked("the log of the first container", func(l *view.Inspection) bool {
		return strings.Join(l.Lines, "|") == "one|two" && l.Stream == view.StreamOpen
	})
	x.Send(view.Inspect{Of: shelved, Log: true, Container: "queue-proxy", Previous: true})
	looked("the reason why there is no log", func(l *view.Inspection) bool {
		return strings.Contains(l.Err, "none before it") && l.Stream == view.StreamEnded
	})
	x.Send(view.Inspect{List: "pdb", Namespaces: "a,b"})
	looked("the list", func(l *view.Inspection) bool {
		return l.Listing != nil && len(l.Listing.Columns) == 2 && !l.At.IsZero()
	})
	x.Send(view.Inspect{List: "unheard"})
	looked("the reason why there is no list", func(l *view.Inspection) bool { return strings.Contains(l.Err, "no kind unheard") })
	x.Send(view.Inspect{})
	x.frame("nothing", func(f *view.Frame) bool { return f.Inspection == nil })
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) != 2 || s.asked[0].Container != "llama" || s.asked[1].Container != "queue-proxy" || !s.asked[1].Previous {
		t.Errorf("asked for %+v", s.asked)
	}
}

func TestALongLogIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	b.WriteString(strings.Repeat("x", 1<<20) + "\nlast")
	x := startEmpty(t, session.Options{Inspect: &shelf{log: func(context.Context) io.Reader { return strings.NewReader(b.String()) }}})
	x.Send(view.Inspect{Of: shelved, Log: true})
	f := x.frame("the end of the log", func(f *view.Frame) bool { return f.Inspection != nil && f.Inspection.Stream == view.StreamEnded })
	lines, size := f.Inspection.Lines, 0
	for _, l := range lines {
		size += len(l)
	}
	if len(lines) != 1000 || size > 4<<20 || !f.Inspection.Cut || lines[999] != "last" || lines[997] != "line 4999" {
		t.Errorf("%d lines, %d bytes, cut %v, ending in %.20q", len(lines), size, f.Inspection.Cut, lines[len(lines)-1])
	}
}

// A kubelet sends nothing before a container's first line, so a log may begin late; that
// of a pod on a silent node may not.
func TestTheLogOfAQuietContainerMayBeginLate(t *testing.T) {
	t.Parallel()
	for silent, patient := range map[string]bool{"": true, "node1": false} {
		s := &anyShelf{shelf{log: endless("")}}
		n := &cluster.Node{Name: "node1", Ready: cluster.TriTrue}
		if silent != "" {
			n.Ready, n.Overdue = cluster.TriUnknown, true
		}
		pod := &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: "web-1"}, UID: "web-1", Node: n.Name, Phase: "Running"}
		w := &still{s: cluster.NewSnapshot(cluster.Contents{Nodes: []*cluster.Node{n}, Pods: []*cluster.Pod{pod}}), changed: make(chan struct{})}
		b := newBoard(workers...)
		x := run(t, t.TempDir(), b, b, w, session.Options{Inspect: s}, nil)
		x.frame("the pod", func(f *view.Frame) bool { return f.Snapshot != nil })
		x.Send(view.Inspect{Of: cluster.Ref{Kind: cluster.KindPod, Key: cluster.Key{Namespace: "default", Name: "web-1"}}, Log: true})
		x.frame("the request for the log", func(*view.Frame) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.asked) > 0
		})
		if got := s.asked[0].Patient; got != patient {
			t.Errorf("with the silent node %q: patient is %v", silent, got)
		}
	}
}

// The survey is of the snapshot, and counts machines that are off as down; while pods are being read it gives the reason.
func TestTheSessionSurveysTheCluster(t *testing.T) {
	t.Parallel()
	b, w := newBoard(workers...), &still{s: mdxSnapshot(), changed: make(chan struct{})}
	x := run(t, t.TempDir(), b, b, w, session.Options{Inspect: &shelf{}}, nil)
	surveyed := func(of view.Inspect, part string) {
		t.Helper()
		x.Send(view.Inspect{})
		x.frame("no survey", func(f *view.Frame) bool { return f.Inspection == nil })
		x.Send(of)
		f := x.frame("the survey", func(f *view.Frame) bool { return f.Inspection != nil })
		if got := strings.Join(f.Inspection.Lines, "\n") + f.Inspection.Err; !strings.Contains(got, part) {
			t.Errorf("%+v lacks %q:\n%s", of, part, got)
		}
	}
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	surveyed(view.Inspect{Survey: 80, Pairs: true}, "Can't spare: all 6 pairs")
	surveyed(view.Inspect{Survey: 80, Together: "kube-node1 kube-node2"}, "kube-node1 + kube-node2")
	x.press(power.ActionOff, "yes", "kube-node3")
	x.off("kube-node3")
	surveyed(view.Inspect{Survey: 80}, "kube-node3 counts as down already")
	c := w.Snapshot().Contents()
	c.Access = map[cluster.Kind]cluster.Access{cluster.KindPod: {}}
	w.show(cluster.NewSnapshot(c))
	x.frame("the cluster without pods", func(f *view.Frame) bool { return f.Snapshot.Unread(cluster.KindPod) })
	surveyed(view.Inspect{Survey: 80}, "where pods go: lightsout is reading")
}

// anyShelf has every pod.
type anyShelf struct{ shelf }

func (*anyShelf) Describe(_ context.Context, ref cluster.Ref) (*cluster.Description, error) {
	return &cluster.Description{Containers: []cluster.Container{{Name: "nginx"}}}, nil
}
