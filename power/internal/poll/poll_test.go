package poll

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"lightsout/power"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestASlowAnswerReachesWhoAsksAgain(t *testing.T) {
	l := New[int](1 << 40)
	defer l.Close()
	asked, answers := make(chan struct{}, 9), make(chan int, 9)
	ask := func(context.Context) (int, error) { asked <- struct{}{}; return <-answers, nil }

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := l.Do(ended, "m", ask); !errors.Is(err, context.Canceled) || len(asked) != 0 {
		t.Fatalf("an ended context: %v, %d questions", err, len(asked))
	}
	impatient, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, _, err := l.Do(impatient, "m", ask)
		left <- err
	}()
	<-asked
	leave()
	var pending *power.SilentError
	if err := <-left; !errors.As(err, &pending) {
		t.Fatal(err)
	}
	answers <- 7
	before := time.Now()
	if got, at, err := l.Do(t.Context(), "m", ask); got != 7 || err != nil || len(asked) != 0 || !at.Before(before) {
		t.Errorf("the second caller gets %d as of %v, %v, after %d more requests", got, at, err, len(asked))
	}
	answers <- 8 // 7 was taken: who asks now asks anew
	if got, _, err := l.Do(t.Context(), "m", ask); got != 8 || err != nil {
		t.Errorf("the next one gets %d, %v", got, err)
	}
}

func TestManyWhoAskAtOnceShareOneQuestion(t *testing.T) {
	synctest.Test(t, manyWhoAskAtOnceShareOneQuestion)
}

func manyWhoAskAtOnceShareOneQuestion(t *testing.T) {
	l := New[int](1 << 40)
	defer l.Close()
	var asked atomic.Int32
	answer := make(chan struct{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got, _, err := l.Do(t.Context(), "m", func(context.Context) (int, error) { asked.Add(1); <-answer; return 1, nil }); got != 1 || err != nil {
				t.Error(got, err)
			}
		})
	}
	synctest.Wait() // all of them wait
	close(answer)
	wg.Wait()
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
}

func TestAfterForgetTheAnswerIsNew(t *testing.T) {
	l := New[int](1 << 40)
	defer l.Close()
	old := make(chan struct{})
	began := make(chan struct{})
	first := make(chan int)
	go func() {
		v, _, _ := l.Do(context.Background(), "m", func(context.Context) (int, error) { close(began); <-old; return 1, nil })
		first <- v
	}()
	<-began
	l.Forget("m")
	if v, _, err := l.Do(t.Context(), "m", func(context.Context) (int, error) { return 2, nil }); v != 2 || err != nil {
		t.Errorf("got %d, %v", v, err)
	}
	close(old)
	if v := <-first; v != 1 {
		t.Errorf("who asked before got %d", v)
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	l := New[int](1 << 40)
	began, result := make(chan struct{}), make(chan error)
	go func() {
		_, _, err := l.Do(context.Background(), "m", func(ctx context.Context) (int, error) { close(began); <-ctx.Done(); return 0, ctx.Err() })
		result <- err
	}()
	<-began
	l.Close()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, _, err := l.Do(t.Context(), "m", nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
