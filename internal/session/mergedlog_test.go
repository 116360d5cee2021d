package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/view"
)

var (
	web    = cluster.Ref{Kind: cluster.KindDeployment, Key: cluster.Key{Namespace: "default", Name: "web"}}
	logsAt = time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
)

// logs is an Inspector with a deployment whose pods write logs, each line at the given
// second.
type logs struct {
	mu    sync.Mutex
	text  map[string]string // by pod
	fails map[string]error
	since map[string]time.Time
}

func (l *logs) Describe(_ context.Context, ref cluster.Ref) (*cluster.Description, error) {
	return &cluster.Description{Ref: ref, Containers: []cluster.Container{{Name: "nginx"}}}, nil
}

func (l *logs) PodLog(ctx context.Context, o cluster.LogOptions) (io.ReadCloser, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since == nil {
		l.since = map[string]time.Time{}
	}
	l.since[o.Pod.Name] = o.Since
	if err := l.fails[o.Pod.Name]; err != nil {
		return nil, err
	}
	if !o.Stamped || o.Container != "nginx" {
		return nil, fmt.Errorf("asked for %+v", o)
	}
	return io.NopCloser(endless(l.text[o.Pod.Name])(ctx)), nil
}

func stamped(second int, text string) string {
	return logsAt.Add(time.Duration(second)*time.Second).Format(time.RFC3339Nano) + " " + text + "\n"
}

// webSnapshot has the deployment's pods, web-N on node N; silent is a node that is.
func webSnapshot(silent string, pods ...string) *cluster.Snapshot {
	c := cluster.Contents{Deployments: []*cluster.Deployment{{Key: web.Key}}}
	for _, p := range pods {
		n := &cluster.Node{Name: "node" + p[len(p)-1:], Ready: cluster.TriTrue}
		if n.Name == silent {
			n.Ready, n.Overdue = cluster.TriUnknown, true
		}
		c.Nodes = append(c.Nodes, n)
		c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: p}, UID: p, Node: n.Name, Deployment: web.Name, Phase: "Running"})
	}
	return cluster.NewSnapshot(c)
}

func (w *still) set(s *cluster.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.s = s
}

func TestTheLogsOfAWorkloadAreOneInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	l := &logs{
		text: map[string]string{
			"web-1": stamped(1, "one") + stamped(4, "four"),
			"web-2": stamped(2, "two") + stamped(3, "\x1b[31mthree"),
			"web-4": stamped(5, "five"),
		},
		fails: map[string]error{"web-3": errors.New("its kubelet does not answer")},
	}
	w := &still{s: webSnapshot("", "web-1", "web-2", "web-3"), changed: make(chan struct{})}
	b := newBoard(workers...)
	x := run(t, t.TempDir(), b, b, w, session.Options{Inspect: l}, nil)
	x.Send(view.Inspect{Of: web, Log: true})
	merged := func(what, lines string, notes ...string) {
		t.Helper()
		x.frame(what, func(f *view.Frame) bool {
			if f.Inspection == nil {
				return false
			}
			text, told := "", ""
			for _, line := range f.Inspection.Merged {
				if line.Note {
					told += line.Pod + " " + line.Text + "\n"
				} else {
					text += line.Pod + " " + line.Text + "\n"
				}
			}
			for _, note := range notes {
				if !strings.Contains(told, note) {
					return false
				}
			}
			return text == lines
		})
	}
	const first = "web-1 one\nweb-2 two\nweb-2 three\nweb-1 four\n"
	merged("the lines of two pods, and why there are none of the third", first, "web-3 its kubelet does not answer")
	w.set(webSnapshot("node2", "web-1", "web-2", "web-4"))
	merged("a new pod, a silent node and a pod that is gone", first+"web-4 five\n", "web-2 node2 is silent", "web-3 the pod is gone")
	l.mu.Lock()
	l.text["web-2"] = stamped(3, "three") + stamped(6, "six")
	l.mu.Unlock()
	w.set(webSnapshot("", "web-1", "web-2", "web-4"))
	merged("the node is back, and no line comes twice", first+"web-4 five\nweb-2 six\n", "web-2 node2 is back")
	l.mu.Lock()
	defer l.mu.Unlock()
	if want := logsAt.Add(3 * time.Second); !l.since["web-2"].Equal(want) {
		t.Errorf("read again since %v, not %v", l.since["web-2"], want)
	}
}
