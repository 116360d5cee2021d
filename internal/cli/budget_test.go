package cli

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestAStreamOfFramesKeepsWithinTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		frame := func(bytes int64) time.Duration {
			began := time.Now()
			b.written.Add(bytes)
			b.wait(context.Background())
			return time.Since(began)
		}
		if held := frame(20 << 10); held != 0 {
			t.Errorf("a whole screen is held back for %v", held)
		}
		time.Sleep(10 * time.Second)
		began, sent := time.Now(), 0
		for time.Since(began) < time.Minute {
			if held := frame(2 << 10); held > oldestFrame {
				t.Errorf("a frame is held back for %v", held)
			}
			sent += 2 << 10
		}
		if most := 60*screenBytes + screenBurst + 2<<10; sent > most {
			t.Errorf("%d bytes in a minute, more than %d", sent, most)
		}
		time.Sleep(10 * time.Second)
		if held := frame(2 << 10); held != 0 {
			t.Errorf("a lone change is held back for %v", held)
		}
	})
}
