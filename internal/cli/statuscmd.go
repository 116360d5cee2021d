package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// powerStatus prints a table of nodes and machines.
func powerStatus(ctx context.Context, o options, nodes []string, wait time.Duration) error {
	return glance(ctx, o, wait, synced, synced, func(cfg *config.Config, s *cluster.Snapshot, m *machines) error {
		if err := known(s, nodes); err != nil {
			return err
		}
		if err := printStatus(ctx, os.Stdout, s, m, nodes); err != nil {
			return err
		}
		left, err := leftOffHere(cfg, o)
		printLeft(os.Stdout, s, left, nodes, o.restore(cfg))
		return err
	})
}

// stateOnce prints the state once, as the plain screen does at its start.
func stateOnce(ctx context.Context, o options, out io.Writer) error {
	return glance(ctx, o, viewWait, readable, hitsKnown, func(cfg *config.Config, s *cluster.Snapshot, m *machines) error {
		f := &view.Frame{Snapshot: s, Power: map[string]view.MachineView{}}
		f.Cluster, f.Namespaces, f.ReadOnly = s.Context, view.Scope{Namespaces: cfg.Namespaces}.NamespacesText(), o.readOnly
		var refs []power.NodeRef
		for _, n := range s.Nodes() {
			refs = append(refs, session.NodeRef(s, n))
		}
		_, readings := m.read(ctx, refs)
		for node, r := range readings {
			f.Power[node] = view.MachineView{Reading: r}
		}
		f.Now = time.Now()
		_, err := fmt.Fprintln(out, strings.Join(stateLines(f), "\n"))
		return err
	})
}

// glance reads the cluster and its machines, by a view and the drivers, and makes no session.
// use gets both when seen holds, and enough does or the wait is over.
func glance(ctx context.Context, o options, wait time.Duration, seen, enough func(*cluster.Snapshot) bool, use func(*config.Config, *cluster.Snapshot, *machines) error) error {
	readOnly := o
	readOnly.readOnly = true
	cfg, err := o.Read()
	if err != nil {
		return err
	}
	w, err := reachView(ctx, cfg)
	if err != nil {
		return err
	}
	defer w.close()
	watcher := cluster.NewWatcher(w.api, cluster.WatchOptions{Namespaces: cfg.Namespaces})
	m, err := newMachines(cfg, readOnly, w.ssh, nil, func(m power.Machine) bool {
		return session.NodeSilent(watcher.Snapshot(), m, time.Now())
	})
	defer m.close()
	if err != nil {
		return err
	}
	s, err := observe(ctx, watcher, wait, seen, enough)
	if err != nil {
		return err
	}
	return use(cfg, s, m)
}

// observe watches the cluster and returns what it has seen when seen holds, and enough does or the wait is over.
func observe(ctx context.Context, watcher *cluster.Watcher, wait time.Duration, seen, enough func(*cluster.Snapshot) bool) (*cluster.Snapshot, error) {
	stop, err := watch(ctx, watcher, wait, seen, enough)
	if err != nil {
		return nil, err
	}
	s := watcher.Snapshot()
	stop()
	return s, ctx.Err()
}

// leftOffHere reads the machines that this journal lists as off in the cluster of the
// configuration.
func leftOffHere(cfg *config.Config, o options) ([]power.LeftOff, error) {
	access, err := apiAccess(cfg, nil)
	if err != nil {
		return nil, err
	}
	journal, err := openJournal(cfg, o, clusterOf(access))
	if err != nil {
		return nil, err
	}
	defer journal.Close()
	return journal.LeftOff()
}

// printLeft prints the machines that are off and whose nodes the cluster does not have, and the
// nodes that may have returned; all when none is named.
func printLeft(out io.Writer, s *cluster.Snapshot, left []power.LeftOff, nodes []string, restore string) {
	for _, l := range left {
		switch cant := l.CantTell(s.Boot(s.Node(l.Node))); {
		case len(nodes) > 0 && !slices.Contains(nodes, l.Node):
		case cant != "":
			fmt.Fprintln(out, cant)
		case s.Node(l.Node) == nil:
			fmt.Fprintf(out, "%s is gone from the cluster, and lightsout switched its machine off at %s (%s); power it on with: %s %s\n",
				power.Clean(l.Node), l.At.Local().Format(time.DateTime), view.MachineText(l.Binding), restore, text.ShellWord(l.Node))
		}
	}
}

// statusWait bounds the wait for the power drivers, with statusEach for each node: a driver takes
// ten lookups or polls at once, and each of them seconds.
const (
	statusWait = 30 * time.Second
	statusEach = time.Second
)

// printStatus prints the nodes, all when none is named, and reads their machines.
func printStatus(ctx context.Context, out io.Writer, s *cluster.Snapshot, m *machines, nodes []string) error {
	var refs []power.NodeRef
	for _, n := range s.Nodes() {
		if len(nodes) == 0 || slices.Contains(nodes, n.Name) {
			refs = append(refs, session.NodeRef(s, n))
		}
	}
	bindings, readings := m.read(ctx, refs)
	rows := [][]string{{"NODE", "STATUS", "POWER", "PROOF", "MACHINE"}}
	for i, ref := range refs {
		machine, bound := m.missing, false
		if m.fleet != nil {
			machine, bound = view.MachineText(bindings[i]), bindings[i].Off != nil || bindings[i].On != nil
		}
		r := readings[ref.Name]
		if bound && r.State != power.On && r.State != power.Off && r.Detail != "" {
			machine += " · " + r.State.String() + ": " + power.Clean(r.Detail) // the driver's own word
		}
		rows = append(rows, []string{ref.Name, s.NodeWord(s.Node(ref.Name), time.Now()), r.State.String(), r.Proof.String(), machine})
	}
	_, err := io.WriteString(out, strings.Join(columns("", rows), "\n")+"\n")
	return err
}

// read polls the machines of the nodes; it returns nothing if there is no fleet.
func (m *machines) read(ctx context.Context, nodes []power.NodeRef) ([]power.Binding, map[string]power.Reading) {
	readings := map[string]power.Reading{}
	if m.fleet == nil {
		return nil, readings
	}
	ctx, end := within(ctx, statusWait+time.Duration(len(nodes))*statusEach, "polling the machines")
	defer end()
	bindings := m.fleet.Resolve(ctx, nodes)
	for _, r := range m.fleet.Read(ctx, bindings) {
		readings[r.Node] = r.Reading
	}
	return bindings, readings
}

// watch watches the cluster until the caller calls stop. It returns when seen holds, and enough does or the
// wait is over. It prints on standard error that it waits.
func watch(ctx context.Context, watcher *cluster.Watcher, wait time.Duration, seen, enough func(*cluster.Snapshot) bool) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var failed error
	over := make(chan struct{})
	go func() {
		defer close(over)
		failed = watcher.Run(ctx)
	}()
	stop = func() { cancel(); <-over }
	waiting, end := context.WithTimeout(ctx, wait)
	defer end()
	said := patient{wait: wait}
	for s := watcher.Snapshot(); !seen(s) || !enough(s); s = watcher.Snapshot() {
		if said.report(s); waiting.Err() != nil || !seen(s) && s != nil && s.Access[cluster.KindNode].Forbidden {
			break
		}
		select {
		case <-watcher.Changed():
		case <-over:
			end()
		case <-waiting.Done():
		}
	}
	if seen(watcher.Snapshot()) {
		return stop, nil
	}
	stop()
	if failed != nil && !errors.Is(failed, context.Canceled) {
		return nil, failed
	}
	return nil, unseen(watcher.Snapshot(), wait)
}
