package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/power"
	"lightsout/power/ssh"
)

// powerStatus prints a table of nodes and machines. It needs a view of the
// cluster and the drivers, and makes no session.
func powerStatus(ctx context.Context, o options, nodes []string, wait time.Duration) error {
	o.readOnly = true
	cfg, err := o.Read()
	if err != nil {
		return err
	}
	client, err := newSSH(cfg, sshAsker{askOnTerminal(), trustOnTerminal(newConsole(false, ""))})
	if err != nil {
		return err
	}
	defer client.Close()
	access, err := apiAccess(cfg, bastionDialer(client))
	if err != nil {
		return err
	}
	api, err := cluster.NewClient(access)
	if err != nil {
		return err
	}
	defer api.Close()
	watcher := cluster.NewWatcher(api, cluster.WatchOptions{Namespaces: cfg.Namespaces})
	m, err := newMachines(cfg, o, client, nil, func(m power.Machine) bool {
		return session.NodeSilent(watcher.Snapshot(), m, time.Now())
	})
	defer m.close()
	if err != nil {
		return err
	}
	s, err := firstSnapshot(ctx, watcher, wait)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if s.Node(n) == nil {
			return fmt.Errorf("there is no node %q; there are %s", n, nodeNames(s))
		}
	}
	return printStatus(ctx, os.Stdout, s, m, nodes)
}

// printStatus prints the nodes, all when none is named, and reads their machines.
func printStatus(ctx context.Context, out io.Writer, s *cluster.Snapshot, m *machines, nodes []string) error {
	var refs []power.NodeRef
	for _, n := range s.Nodes() {
		if len(nodes) == 0 || slices.Contains(nodes, n.Name) {
			refs = append(refs, session.NodeRef(n))
		}
	}
	readings := map[string]power.Reading{}
	var bindings []power.Binding
	if m.fleet != nil {
		bindings = m.fleet.Resolve(ctx, refs)
		for _, r := range m.fleet.Read(ctx, bindings) {
			readings[r.Node] = r.Reading
		}
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tSTATUS\tPOWER\tPROOF\tMACHINE")
	for i, ref := range refs {
		machine := m.missing
		if m.fleet != nil {
			machine = view.MachineText(bindings[i])
		}
		r := readings[ref.Name]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", ref.Name, s.NodeWord(s.Node(ref.Name), time.Now()), r.State, r.Proof, machine)
	}
	return w.Flush()
}

// firstSnapshot watches the cluster until its nodes have been seen.
func firstSnapshot(ctx context.Context, watcher *cluster.Watcher, wait time.Duration) (*cluster.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	ended := make(chan error, 1)
	go func() { ended <- watcher.Run(ctx) }()
	var s *cluster.Snapshot
	said := patient{wait: wait}
	for {
		s = watcher.Snapshot()
		said.look(s)
		if synced(s) || s != nil && s.Access[cluster.KindNode].Forbidden {
			break
		}
		select {
		case <-watcher.Changed():
			continue
		case <-ctx.Done():
		}
		break
	}
	cancel()
	err := <-ended
	if synced(s) {
		return s, nil
	}
	why := fmt.Sprintf("it has not answered within %s", wait)
	if s != nil && unseen(s) != "" {
		why = unseen(s)
	}
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return nil, fmt.Errorf("the cluster can't be seen: %s", why)
}

// trustOnTerminal asks on the terminal whether to trust a host key.
func trustOnTerminal(c *console) func(context.Context, ssh.HostKeyQuestion) (bool, error) {
	if c.in == nil {
		return nil
	}
	return func(ctx context.Context, q ssh.HostKeyQuestion) (bool, error) {
		fmt.Fprintf(os.Stderr, "The host key of %s is in no known_hosts file: %s, fingerprint %s.\nTrust it, and add it to %s? [y/N] ",
			power.Clean(q.Host), q.KeyType, q.Fingerprint, q.File)
		text, err := c.line(ctx)
		return text == "y" || text == "yes", err
	}
}
