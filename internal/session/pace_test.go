package session

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// framesOf gives when frames go out for changes that come at those times.
func framesOf(t *testing.T, changes []time.Duration) (out []time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		changed, over := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(over)
			for _, at := range changes {
				time.Sleep(time.Until(began.Add(at)))
				changed <- struct{}{}
			}
			time.Sleep(time.Second)
		}()
		p := newPace()
		defer p.stop()
		for {
			select {
			case <-p.due():
				p.shown(time.Now())
				out = append(out, time.Since(began))
			case <-changed:
				p.stirred(time.Now())
			case <-over:
				return
			}
		}
	})
	return out
}

func TestALoneChangeIsShownAtOnceAndAStreamAtAPace(t *testing.T) {
	t.Parallel()
	lone := framesOf(t, []time.Duration{time.Second, 3 * time.Second, 3*time.Second + leastGap/2, 5 * time.Second})
	if want := []time.Duration{0, time.Second, 3 * time.Second, 3*time.Second + leastGap, 5 * time.Second}; !slices.Equal(lone, want) {
		t.Errorf("lone changes are shown at %v, not %v", lone, want)
	}
	var stream []time.Duration
	for at := time.Second; at < 11*time.Second; at += 5 * time.Millisecond {
		stream = append(stream, at)
	}
	got := framesOf(t, stream)[1:]
	if got[0] != time.Second || len(got) > 10*framesASecond+framesAtOnce+1 || len(got) < 10*framesASecond {
		t.Errorf("%d frames of a stream of ten seconds, the first at %v", len(got), got[0])
	}
	if last := got[len(got)-1]; last < stream[len(stream)-1] {
		t.Errorf("the last change of %v is not shown; the last frame was at %v", stream[len(stream)-1], last)
	}
}
