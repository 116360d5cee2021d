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
	"lightsout/internal/outage"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// powerStatus prints the nodes and their machines, in one of the formats of -o.
func powerStatus(ctx context.Context, o options, nodes []string, as string, wait time.Duration) error {
	return glance(ctx, o, wait, synced, synced, func(cfg *config.Config, w way, s *cluster.Snapshot) error {
		if err := known(s, nodes); err != nil {
			return err
		}
		read, err := readMachines(ctx, cfg, o, w, s, nodes)
		if err != nil {
			return err
		}
		left, err := leftOffHere(cfg, o, w)
		rows := read.rows(s, left, nodes)
		if as == formatJSON {
			return errors.Join(writeJSON(os.Stdout, rows), err)
		}
		table := [][]string{{"NODE", "STATUS", "POWER", "PROOF", "MACHINE"}}
		table = append(table, text.Each(rows, func(r statusRow) []string { return []string{r.Node, r.Status, r.State, r.Proof, r.machine} })...)
		printLines(os.Stdout, columns("", table)...)
		printLeft(os.Stdout, s, left, nodes, o.restore(cfg))
		return err
	})
}

// stateOnce prints the state once, as the plain screen does at its start.
func stateOnce(ctx context.Context, o options, out io.Writer) error {
	return glance(ctx, o, viewWait, readable, hitsKnown, func(cfg *config.Config, w way, s *cluster.Snapshot) error {
		f := &view.Frame{Snapshot: s, Power: map[string]view.MachineView{}}
		f.Cluster, f.Namespaces, f.ReadOnly = s.Context, view.Scope{Namespaces: cfg.Namespaces}.NamespacesText(), o.readOnly
		read, err := readMachines(ctx, cfg, o, w, s, nil)
		if err != nil {
			return err
		}
		for node, r := range read.readings {
			f.Power[node] = view.MachineView{Reading: r}
		}
		f.Now = time.Now()
		_, err = fmt.Fprintln(out, strings.Join(stateLines(f), "\n"))
		return err
	})
}

// glance reads the cluster once, and makes no session. use gets what was seen when seen holds, and
// enough does or the wait is over.
func glance(ctx context.Context, o options, wait time.Duration, seen, enough func(*cluster.Snapshot) bool, use func(*config.Config, way, *cluster.Snapshot) error) error {
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
	stop, err := watch(ctx, watcher, wait, seen, enough)
	if err != nil {
		return err
	}
	s := watcher.Snapshot()
	stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return use(cfg, w, s)
}

// leftOffHere reads the machines that this journal lists as off in a cluster.
func leftOffHere(cfg *config.Config, o options, w way) ([]power.LeftOff, error) {
	journal, err := openJournal(cfg, o, w.here)
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
		switch now := s.Boot(s.Node(l.Node)); {
		case len(nodes) > 0 && !slices.Contains(nodes, l.Node):
		case l.Before.Seen(now) == outage.CantTell:
			fmt.Fprintln(out, l.CantTell(now))
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

// machinesRead are nodes with their machines, as the drivers report them.
type machinesRead struct {
	nodes    []power.NodeRef
	bindings []power.Binding // of nodes; none if no machine can be switched
	readings map[string]power.Reading
	missing  string // why no machine can be switched
}

// readMachines polls the machines of the nodes, of all when none is named.
func readMachines(ctx context.Context, cfg *config.Config, o options, w way, s *cluster.Snapshot, nodes []string) (read machinesRead, err error) {
	o.readOnly = true
	m, err := newMachines(cfg, o, w.ssh, nil, func(m power.Machine) bool { return session.NodeSilent(s, m, time.Now()) })
	defer m.close()
	if err != nil {
		return read, err
	}
	for _, n := range s.Nodes() {
		if len(nodes) == 0 || slices.Contains(nodes, n.Name) {
			read.nodes = append(read.nodes, session.NodeRef(s, n))
		}
	}
	read.missing = m.missing
	if m.fleet != nil {
		read.poll(ctx, m.fleet)
	}
	return read, nil
}

// poll finds the machines of the nodes and polls them.
func (read *machinesRead) poll(ctx context.Context, fleet *power.Fleet) {
	ctx, end := within(ctx, statusWait+time.Duration(len(read.nodes))*statusEach, "polling the machines")
	defer end()
	bindings, readings := fleet.FindAndRead(ctx, read.nodes)
	read.bindings, read.readings = bindings, map[string]power.Reading{}
	for _, r := range readings {
		read.readings[r.Node] = r.Reading
	}
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
