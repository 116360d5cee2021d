package simulator

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"lightsout/internal/testenv"
)

func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1) // the scheduler then always picks the same of two goroutines
	os.Exit(m.Run())
}

// t10 ends in 40 minutes of virtual time.
func t10() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Minute)
	_ = cancel
	return ctx
}

// memory returns a folder in memory, where fsync costs nothing.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "lightsout-sim-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// number reads a number from the environment.
func number(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// LIGHTSOUT_SEQUENCES=20000 runs that many sequences; LIGHTSOUT_SEED starts from that
// seed. A machine that is too slow for all of them within the limit of go test tries fewer.
func TestLightsoutForgetsNoMachineAndSwitchesNoneByAnOldJudgement(t *testing.T) {
	n := number("LIGHTSOUT_SEQUENCES", 200)
	if testing.Short() || testenv.Race { // ten times as slow
		n = min(n, 50)
	}
	first := number("LIGHTSOUT_SEED", 1)
	root := memory(t)
	t.Setenv("KUBECONFIG", "")
	began := time.Now()
	var simulated time.Duration
	failures := number("LIGHTSOUT_FAILURES", 1)
	tried := uint64(0)
	limit, limited := t.Deadline()
	for seed := first; seed < first+n && failures > 0; seed++ {
		res := run(t, root, seed)
		tried++
		if limited && time.Until(limit) < 2*time.Minute {
			break
		}
		simulated += res.took
		if len(res.wrong) > 0 {
			failures--
			t.Errorf("seed %d: %s\n%s", seed, strings.Join(res.wrong, "\n"), tail(res.story))
		}
	}
	t.Logf("%d sequences from seed %d: %.0f simulated hours in %s, %s a sequence", tried, first, simulated.Hours(),
		time.Since(began).Round(time.Second), (time.Since(began) / time.Duration(tried)).Round(100*time.Microsecond))
}

// tail returns the story, or only its end.
func tail(story []string) string {
	const most = 150
	if len(story) > most && os.Getenv("LIGHTSOUT_STORY") == "" {
		return fmt.Sprintf("… %d lines (LIGHTSOUT_STORY=1 shows all)\n", len(story)-most) + strings.Join(story[len(story)-most:], "\n")
	}
	return strings.Join(story, "\n")
}
