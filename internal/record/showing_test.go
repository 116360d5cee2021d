package record_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/record/replay"
	"lightsout/internal/view"
)

// same compares what two frames show. Times are the same when they are the same
// moment, and an empty list is the same as none.
func same(path string, a, b reflect.Value) string {
	if a.Type() == reflect.TypeFor[time.Time]() {
		if x, y := a.Interface().(time.Time), b.Interface().(time.Time); !x.Equal(y) {
			return fmt.Sprintf("%s: %s, not %s", path, x, y)
		}
		return ""
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return path + ": one is nil"
			}
			return ""
		}
		return same(path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if d := same(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Slice:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s: %d items, not %d", path, a.Len(), b.Len())
		}
		for i := range a.Len() {
			if d := same(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Map:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s: %d items, not %d", path, a.Len(), b.Len())
		}
		for _, k := range a.MapKeys() {
			if !b.MapIndex(k).IsValid() {
				return fmt.Sprintf("%s: no %v", path, k)
			}
			if d := same(fmt.Sprintf("%s[%v]", path, k), a.MapIndex(k), b.MapIndex(k)); d != "" {
				return d
			}
		}
		return ""
	}
	if !reflect.DeepEqual(a.Interface(), b.Interface()) {
		return fmt.Sprintf("%s: %v, not %v", path, a, b)
	}
	return ""
}

// differs says in what two frames differ for the eye; empty if in nothing.
// Of choices only the words are kept; the record's own folder stands in a
// trial's; what the gauge's clock says is not shown.
func differs(got, want *view.Frame) string {
	g, w := *got, *want
	for _, f := range []*view.Frame{&g, &w} {
		f.History, f.Recording, f.Replay, f.Load.Gauge.At = nil, false, nil, time.Time{}
		if f.Trial != nil {
			t := *f.Trial
			t.Dir = ""
			f.Trial = &t
		}
		if f.Question != nil {
			q := *f.Question
			q.Choices = nil
			f.Question = &q
		}
	}
	if (g.Snapshot == nil) != (w.Snapshot == nil) {
		return fmt.Sprintf("snapshot: %v, not %v", g.Snapshot, w.Snapshot)
	}
	if g.Snapshot != nil {
		gc, wc := g.Snapshot.Contents(), w.Snapshot.Contents()
		if d := pulse(&gc, &wc); d != "" {
			return d
		}
		if d := same("snapshot", reflect.ValueOf(gc), reflect.ValueOf(wc)); d != "" {
			return d
		}
	}
	g.Power, w.Power = unread(g.Power), unread(w.Power)
	g.Snapshot, w.Snapshot = nil, nil
	return same("frame", reflect.ValueOf(g), reflect.ValueOf(w))
}

// pulse takes out what goes on while nothing happens: it may be as old as the
// last sign of life.
func pulse(got, want *cluster.Contents) (d string) {
	check := func(what string, g, w *time.Time) {
		if late := w.Sub(*g); late < 0 || late > 5*time.Second {
			d = fmt.Sprintf("%s is %s, not %s", what, g, w)
		}
		*g, *w = time.Time{}, time.Time{}
	}
	check("the snapshot's time", &got.At, &want.At)
	check("the last contact", &got.Link.LastContact, &want.Link.LastContact)
	got.Version, want.Version = 0, 0
	nodes := func(c *cluster.Contents) {
		for i, n := range c.Nodes {
			x := *n
			c.Nodes[i] = &x
		}
	}
	got.Nodes, want.Nodes = slices.Clone(got.Nodes), slices.Clone(want.Nodes)
	nodes(got)
	nodes(want)
	for i := range min(len(got.Nodes), len(want.Nodes)) {
		check("a renewal", &got.Nodes[i].Renewed, &want.Nodes[i].Renewed)
		check("a heartbeat", &got.Nodes[i].RenewSeen, &want.Nodes[i].RenewSeen)
	}
	return d
}

func unread(in map[string]view.MachineView) map[string]view.MachineView {
	out := maps.Clone(in)
	for name, v := range out {
		v.Reading.RequestedAt, v.Reading.Arrived = time.Time{}, time.Time{}
		out[name] = v
	}
	return out
}

// showing plays a record, paused, and gives the frames of moments.
type showing struct {
	t *testing.T
	p *replay.Player
}

func show(t *testing.T, dir string) *showing {
	t.Helper()
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return showRecord(t, r)
}

func showRecord(t *testing.T, r *record.Record) *showing {
	t.Helper()
	p, err := replay.New(r, replay.Options{Paused: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &showing{t, p}
}

func (s *showing) at(at time.Time) *view.Frame {
	s.t.Helper()
	s.p.Send(view.ReplaySeek{At: at})
	for f := range s.p.Frames() {
		switch r := f.Replay; {
		case f.Now.Equal(at):
			return f
		case at.Before(r.Start), at.After(r.End):
			s.t.Fatalf("%s is not within the record, from %s to %s", at, r.Start, r.End)
		}
	}
	s.t.Fatal("the replay has ended")
	return nil
}
