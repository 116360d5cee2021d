package cluster

import (
	"testing"
	"time"
)

// A new list or watch hangs while the API server answers everything else: the snapshot dates what it
// shows by the end of the watch, or by the newest list.
func TestDataThatIsNotWatchedAgainIsDated(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }
	src := &source{kind: KindPod}
	list := func(s *state) { s.listed(src, nil, at(0)) }
	watched := func(s *state) { s.followed(src, Access{Synced: true}) }
	ends := func(s *state) { s.watchEnded(src, at(100)) }
	failed := func(s *state) { s.followed(src, Access{Err: "no answer", Until: at(108)}) }
	again := func(s *state) { s.listed(src, nil, at(110)) }
	for name, tc := range map[string]struct {
		news []delta
		now  int
		want time.Time // zero: it is live
	}{
		"the first list hangs":              {nil, 60, time.Time{}},
		"the first watch hangs":             {[]delta{list}, 60, at(0)},
		"it is watched":                     {[]delta{list, watched}, 60, time.Time{}},
		"the watch has just ended":          {[]delta{list, watched, ends}, 104, time.Time{}},
		"the next one hangs":                {[]delta{list, watched, ends}, 106, at(100)},
		"the next one fails":                {[]delta{list, watched, ends, failed}, 109, at(100)},
		"it is watched again":               {[]delta{list, watched, ends, watched}, 160, time.Time{}},
		"listed again, and the watch hangs": {[]delta{list, watched, ends, failed, again}, 116, at(110)},
	} {
		w := &Watcher{client: &Client{cfg: &Config{}, traffic: newTraffic()}, changed: make(chan struct{}, 1), kubelets: newKubelets()}
		w.snapshot.Store(NewSnapshot(Contents{}))
		s := newState(w, src)
		for _, d := range tc.news {
			d(s)
		}
		s.look(at(tc.now))
		if a := s.access[KindPod]; !a.Until.Equal(tc.want) || a.Synced != (len(tc.news) > 0) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
