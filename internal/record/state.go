package record

import (
	"maps"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// State is the sum of the samples up to one moment. The zero State is empty. One
// goroutine may use it; the objects that it returns do not change.
type State struct {
	// Seq is the newest event's number.
	Seq int

	shown view.Frame // without Snapshot, History, Events and the seconds of Load
	doing string

	head     cluster.Contents // without objects
	objects  *cluster.Builder
	snapshot *cluster.Snapshot // of objects; nil: not made yet

	from, to int64
	windows  map[int64]loadgen.Second
}

// Frame returns the screen as of now; without History and Events, which samples do not
// have.
func (s *State) Frame(now time.Time) *view.Frame {
	f := s.shown
	f.Now, f.Snapshot, f.Power = now, s.Snapshot(), maps.Clone(f.Power)
	f.Load.Seconds = s.Windows(now)
	if f.Trial != nil {
		trial := *f.Trial
		trial.Doing = s.doing
		f.Trial = &trial
	}
	return &f
}

// Apply takes the next sample.
func (s *State) Apply(x *Sample) {
	if x.Key {
		*s = State{}
	}
	s.Seq = max(s.Seq, x.Seq)
	f := &s.shown
	take(&f.Title, x.Title)
	take(&f.Zero, x.Zero)
	take(&f.NoLoad, x.NoLoad)
	take(&f.Focus, x.Focus)
	take(&f.Next, x.Next)
	take(&s.doing, x.Doing)
	take(&f.Outages, x.Outages)
	take(&f.Notice, x.Notice)
	if x.Trial != nil {
		f.Trial = x.Trial
		if x.Trial.Name == "" {
			f.Trial = nil
		}
	}
	if x.Question != nil {
		f.Question = x.Question
		if x.Question.Title == "" {
			f.Question = nil
		}
	}
	s.applyMachines(x)
	if x.Cluster != nil {
		s.applyCluster(x.Cluster)
	}
	if x.Load != nil {
		s.applyLoad(x.Load)
	}
}

func take[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func (s *State) applyMachines(x *Sample) {
	if s.shown.Power == nil {
		s.shown.Power = map[string]view.MachineView{}
	}
	for name, m := range x.Machines {
		if m == nil {
			delete(s.shown.Power, name)
		} else {
			s.shown.Power[name] = *m
		}
	}
	for name, at := range x.Reads {
		if m, ok := s.shown.Power[name]; ok {
			m.Reading.Arrived = at
			s.shown.Power[name] = m
		}
	}
}

func (s *State) applyCluster(c *Cluster) {
	s.snapshot = nil
	if c.None {
		s.objects = nil
		return
	}
	if s.objects == nil {
		s.objects = cluster.NewBuilder()
	}
	s.head.Version, s.head.At = c.Version, c.At
	if c.Server != nil {
		s.head.Context, s.head.Server, s.head.ServerVersion = c.Server.Context, c.Server.URL, c.Server.Version
	}
	take(&s.head.Link, c.Link)
	if c.Access != nil {
		s.head.Access = c.Access
	}
	take(&s.head.Settings, c.Settings)
	take(&s.head.HeartbeatsSince, c.HeartbeatsSince)
	take(&s.head.HeartbeatsUntil, c.HeartbeatsUntil)
	each(c.GoneNodes, s.objects.DropNode)
	each(c.GoneDeployments, s.objects.DropDeployment)
	each(c.GonePods, s.objects.DropPod)
	each(c.GoneEndpoints, s.objects.DropEndpoints)
	s.objects.Set(cluster.Contents{Nodes: c.Nodes, Deployments: c.Deployments, Pods: c.Pods, Endpoints: c.Endpoints})
	for name, b := range c.Beats {
		if n := s.objects.Node(name); n != nil {
			x := *n // snapshots hold the old one
			x.Renewed, x.RenewSeen = b.Renewed, b.Seen
			s.objects.SetNode(&x)
		}
		if link := &s.head.Link; link.State == cluster.LinkLive && b.Seen.After(link.LastContact) {
			link.LastContact = b.Seen
		}
	}
}

func each[K any](list []K, f func(K)) {
	for _, k := range list {
		f(k)
	}
}

// Snapshot gives the cluster as it was; nil when there was none yet. It is the
// same one until the cluster changes.
func (s *State) Snapshot() *cluster.Snapshot {
	if s.snapshot == nil && s.objects != nil {
		s.snapshot = s.objects.Snapshot(s.head)
	}
	return s.snapshot
}

// windowsMost bounds the windows that are kept and given out.
const windowsMost = 4000

func (s *State) applyLoad(l *LoadSample) {
	if l.Run != nil {
		s.shown.Load = *l.Run
		s.shown.Load.Seconds = nil
	}
	if l.From > 0 && l.To >= l.From && l.To < 1<<40 {
		s.from, s.to = max(l.From, l.To-windowsMost+1), l.To
	}
	if s.windows == nil {
		s.windows = map[int64]loadgen.Second{}
	}
	for _, w := range l.Windows {
		if w != nil {
			s.windows[w.At.Unix()] = *w
		}
	}
	if len(s.windows) > 2*windowsMost {
		maps.DeleteFunc(s.windows, func(unix int64, _ loadgen.Second) bool { return unix < s.from })
	}
}

// Windows gives the load's last seconds, oldest first and without gaps, up to
// the second of now if that is no more than lull later than the sample.
func (s *State) Windows(now time.Time) []loadgen.Second {
	if s.from == 0 {
		return nil
	}
	from, to := s.from, s.to
	if ahead := now.Unix(); ahead > to && ahead-to <= int64(lull/time.Second) {
		if to-from+1 >= loadgen.DefaultWindowLimit { // the oldest go as new ones come
			from += ahead - to
		}
		to = ahead
	}
	out := make([]loadgen.Second, 0, to-from+1)
	for unix := from; unix <= to; unix++ {
		w := s.windows[unix]
		w.At = time.Unix(unix, 0)
		out = append(out, w)
	}
	return out
}

// lull is how far apart samples may be while the program lives, and some more.
const lull = 15 * time.Second
