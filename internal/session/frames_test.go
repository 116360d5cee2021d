package session

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lightsout/internal/view"
)

func TestTheScreenSaysThatALoopWaitsForItsDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f := newFrames()
		go f.watch(ctx, time.Now)
		f.turned()
		f.show(&view.Frame{Now: time.Now()})
		<-f.out

		time.Sleep(stuckAfter + 2*beat)
		synctest.Wait()
		got := <-f.out
		if !strings.Contains(got.Notice.Text, "waits for the disk") || got.Notice.Level != view.Warning || !got.Now.Equal(got.Notice.At) {
			t.Errorf("the frame after %s without a turn has the notice %+v at %s", stuckAfter, got.Notice, got.Now)
		}

		for range 20 {
			f.turned()
			time.Sleep(beat)
		}
		synctest.Wait()
		select {
		case got := <-f.out:
			t.Errorf("a loop that turns has a frame with the notice %q", got.Notice.Text)
		default:
		}
	})
}
