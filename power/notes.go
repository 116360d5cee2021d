package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"lightsout/internal/text"
)

// me is a new note of this program's journal. Its command starts lightsout as its readers do.
func (s *Switcher) me() Note {
	host, _ := os.Hostname()
	by := Clean(account() + "@" + cmp.Or(host, "unknown"))
	back := strings.Replace(s.Fleet.cfg.WayBack, text.Self+" restore", "lightsout restore", 1) + ", by " + by
	return Note{By: by, ID: newOp(), At: time.Now().UTC().Truncate(time.Second), Back: back}
}

// account returns the name of the account that runs this program.
func account() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprint(os.Getuid())
}

// changeNotes changes the notes on nodes, which may reuse had. If the account may not write them, it does without.
func (s *Switcher) changeNotes(ctx context.Context, nodes []string, change func(node string, had []Note) []Note) (errs error) {
	if s.Annotations == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	for _, n := range nodes {
		err := s.Annotations.Change(ctx, n, func(had string) (string, bool) {
			was := apart(had)
			now := change(n, slices.Clone(was))
			return together(now), !slices.Equal(now, was)
		})
		if err != nil && !errors.Is(err, ErrMayNot) {
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

// annotate annotates the nodes of an agreed question before they are switched off. If that
// fails, the cluster is not what it seemed, and lightsout must switch nothing. The
// notes of others stay, unless they are out of date by the view: each journal removes its own.
func (s *Switcher) annotate(ctx context.Context, nodes []string, q Question, view ClusterState) error {
	if s.Fleet.cfg.DryRun || q.Action == ActionOn {
		return nil
	}
	me := s.me()
	if err := s.Fleet.journal.append(Entry{Kind: EntryAnnotating, Op: me.ID, Text: Clean("annotates " + strings.Join(nodes, ", "))}); err != nil {
		return fmt.Errorf("nothing was switched: %w", err)
	}
	if err := s.changeNotes(ctx, nodes, func(node string, had []Note) []Note {
		m := me
		m.At = m.At.Add(q.ahead).Truncate(time.Second)
		for _, b := range q.Bindings {
			if b.Node.Name == node && certainBoot(b.Heard, time.Now()) {
				m.Boot = b.Node.BootID // otherwise the request may end another boot
			}
		}
		rest := slices.DeleteFunc(had, func(o Note) bool { return s.ours(o) || o.over(view.node(node)) })
		return append([]Note{m}, rest...)
	}); err != nil {
		return fmt.Errorf("nothing was switched: %w", err)
	}
	return nil
}

// removeNotes removes our notes from those of the nodes that no journal of ours lists as
// off. It also removes the notes of others from nodes whose machines were proven off at
// a time and are proven on since, if a note is so much older than that time that its
// request was the one that switched the machine off. It holds the cluster's lock,
// because another program of this journal may have written a note for an intent that is
// still to come. A note that it cannot remove stays visible, and Sweep retries. The error is
// the reason why a note may stay.
func (s *Switcher) removeNotes(ctx context.Context, nodes []string, wasOff map[string]time.Time) error {
	if s.Fleet.cfg.DryRun || len(nodes) == 0 {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err := s.Fleet.cfg.Locks.take(wait, clusterLock(s.Fleet.cluster()))
	switch {
	case err == nil:
		defer unlock()
	case errors.Is(err, errLocked):
		return err
	}
	back := s.accountedFor()
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return !back(n) && wasOff[n].IsZero() })
	return s.changeNotes(ctx, nodes, func(n string, had []Note) []Note {
		return slices.DeleteFunc(had, func(m Note) bool {
			if s.ours(m) {
				return back(n)
			}
			return !m.At.IsZero() && m.At.Add(arrivesWithin).Before(wasOff[n])
		})
	})
}

// arrivesWithin is how long after its note another program's request may still be on its
// way: that program waits for its lock, its turn, a login and a slow power API.
const arrivesWithin = time.Minute

// accountedFor returns a function that reports whether the journal lists a node's
// machine as on. For an unreliable journal it reports false for every node: a request whose
// intent is damaged may shut a node down.
func (s *Switcher) accountedFor() (back func(node string) bool) {
	left := s.leftOff()
	why, _ := s.noJournal()
	return func(n string) bool { return why == "" && left[n] == nil }
}

// Sweep removes the notes that are out of date, and those of this journal on nodes that it
// lists as on. nodes are all nodes that lightsout sees; none if it cannot see the cluster.
// It returns the notes of other journals that stay.
func (s *Switcher) Sweep(nodes []Node) (others []NodeNote) {
	unlock, err := s.Fleet.cfg.Locks.tryAll(clusterLock(s.Fleet.cluster()))
	if err == nil { // nobody is about to switch the nodes in the notes
		defer unlock()
	}
	keep := err != nil || s.Fleet.cfg.DryRun || s.Fleet.cfg.ReadOnly
	back := s.accountedFor()
	certain := s.Fleet.cluster().certain() // otherwise a note may belong to another cluster
	for _, n := range nodes {
		over := func(m Note) bool {
			if s.ours(m) {
				return back(n.Name)
			}
			return certain && m.over(n)
		}
		others = append(others, s.others(n)...)
		if !keep && slices.ContainsFunc(n.Notes, over) {
			_ = s.changeNotes(context.Background(), []string{n.Name}, func(_ string, had []Note) []Note {
				return slices.DeleteFunc(had, over)
			})
		}
	}
	return others
}

// ours reports whether this program's journal has a note, by its ID: the host may have
// another name by now, and the journal another path. It is false for the notes of an earlier
// journal that is lost, and for those written after this journal was copied.
func (s *Switcher) ours(m Note) bool { return s.Fleet.journal.annotated(m.ID) }
