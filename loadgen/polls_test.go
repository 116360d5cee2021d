package loadgen

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// However many pods there are and however often the gauge is wanted, no more
// than ten questions are asked in any second; each pod has its turn, and what is
// not known is told.
func TestTheGaugeAsksNoMoreThanTenQuestionsASecond(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pods, sources, asked int // asked: lately, by the gauge; 0: all
		each                 time.Duration
	}{
		{4, 1, 0, sampleEach}, {16, 1, 0, sampleEach}, {16, 1, 0, sampleSoon}, {40, 1, 27, sampleEach}, {300, 30, 15, sampleEach}, {300, 0, 30, sampleSoon},
	} {
		t.Run(fmt.Sprint(tc.pods, " pods, ", tc.sources, " sources, each ", tc.each), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var questions []time.Time
				times := map[string]int{}
				backends := func() (out []Backend) {
					for i := range tc.pods {
						out = append(out, Backend{Namespace: "default", Pod: fmt.Sprintf("llm-%04d", i), Ready: true, Concurrency: 1, QueueProxy: true})
					}
					return out
				}
				sources := func() (out []Source) {
					for i := range tc.sources {
						out = append(out, Source{Namespace: "knative-serving", Pod: fmt.Sprint("activator-", i), Metrics: ActivatorMetrics("default", []string{"llm"})})
					}
					return out
				}
				sm := newSampler(&common{now: time.Now, ctx: t.Context(), ledger: newLedger(60), opts: Options{
					Backends: backends, Sources: sources, Fetch: func(_ context.Context, _, pod string, _ int32, _ string) ([]byte, error) {
						mu.Lock()
						defer mu.Unlock()
						questions = append(questions, time.Now())
						times[pod]++
						return statMessage(pod, 0.5), nil
					}}}, func() (bool, time.Time) { return true, time.Time{} })
				for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(tc.each) {
					sm.sample()
				}
				for i := range questions {
					if i >= askMost && questions[i].Sub(questions[i-askMost]) < time.Second {
						t.Fatalf("%d questions in %v", askMost+1, questions[i].Sub(questions[i-askMost]))
					}
				}
				g := sm.gauge(time.Now(), tc.pods, tc.pods, true)
				if tc.asked == 0 && (g.Basis != BasisMeasured || g.Servers != 0) || tc.asked > 0 && (g.Basis != BasisPartial || g.Servers != tc.pods || g.Asked != tc.asked) {
					t.Errorf("the gauge knows %d of %d: %+v", tc.asked, tc.pods, g)
				}
				fair := func(what string, pods []string) {
					most, least := 0, len(questions)
					for _, pod := range pods {
						most, least = max(most, times[pod]), min(least, times[pod])
					}
					if most-least > 1 {
						t.Errorf("one %s was asked %d times, another %d", what, most, least)
					}
				}
				var pods, activators []string
				for _, b := range backends() {
					pods = append(pods, b.Pod)
				}
				for _, s := range sources() {
					activators = append(activators, s.Pod)
				}
				fair("pod", pods)
				fair("source", activators)
			})
		})
	}
}
