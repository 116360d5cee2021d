package power

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/internal/clock"
	"lightsout/internal/text"
)

// judgedFor is how long a judgement counts. After it a machine waits for its lock, its
// journal entry, its turn and a connection, and somebody may stop or suspend the whole
// program.
const judgedFor = time.Second

// judgeTries is how often lightsout judges again when the judgement itself took too
// long.
const judgeTries = 3

// judgement is the conclusion from a view of the cluster, with the time of that view.
// All operations of one request share it. It is safe for concurrent use.
type judgement struct {
	// while is the request's: when it ends, lightsout sends nothing more.
	while context.Context
	again func(ctx context.Context) (at time.Time, err error)

	mu mutex
	at time.Time
}

// fresh judges again if the judgement is older than judgedFor. The error is a *vetoedError if it no longer holds.
func (j *judgement) fresh(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for tries := 0; clock.Since(j.at) > judgedFor; tries++ {
		at, err := j.again(ctx)
		switch {
		case err != nil:
			return &vetoedError{Why: strings.TrimSuffix(err.Error(), ".")}
		case tries == judgeTries:
			return &vetoedError{Why: fmt.Sprintf("the checks before it took longer than %s, %d times in a row", judgedFor, judgeTries)}
		}
		j.at = at
	}
	if j.while.Err() != nil {
		return &vetoedError{Why: "it has been cancelled, or its trial has ended"}
	}
	return ctx.Err()
}

// BeforeSend checks that lightsout may still switch the machine. A driver calls it
// immediately before it sends the packet, or starts the command, that switches a
// machine: after it has connected, logged in and found the machine. After an error the
// driver must send nothing and return that error unchanged. For powering on BeforeSend
// only checks ctx.
func BeforeSend(ctx context.Context) error {
	if asked, ok := ctx.Value(permitKey{}).(func(context.Context) error); ok {
		return asked(ctx)
	}
	return ctx.Err()
}

type permitKey struct{}

// Permit returns a context with which BeforeSend returns what asked does: nil while lightsout may send the request.
// asked gets the context of BeforeSend.
func Permit(ctx context.Context, asked func(context.Context) error) context.Context {
	return context.WithValue(ctx, permitKey{}, asked)
}

// judgeAgain judges an answered question once more: it reads the machines of the
// workers that are left, which takes time, and then asks the API server how the
// cluster is now. It returns the time of that view.
func (s *Switcher) judgeAgain(ctx context.Context, q Question) (at time.Time, err error) {
	state, err := s.state(ctx, false)
	if err != nil {
		return time.Now(), err
	}
	readings := map[string]Reading{}
	s.judgeView(ctx, q, state, readings)
	if state, err = s.state(ctx, true); err != nil {
		return time.Now(), err
	}
	changed := text.Each(worse(q, s.judgeView(ctx, q, state, readings)), func(f Finding) string { return f.Text })
	if len(changed) > 0 {
		return state.At, errors.New(strings.Join(changed, " "))
	}
	return state.At, ctx.Err()
}

// judgeView judges an agreed question by a view of the cluster. It polls the machines
// that readings lacks, and adds them to readings.
func (s *Switcher) judgeView(ctx context.Context, q Question, state ClusterState, readings map[string]Reading) Question {
	in := s.guardInput(q.Request, state)
	in.Bound = q.bound
	for _, n := range q.Nodes {
		delete(in.Busy, n) // this request itself keeps it busy
	}
	now := Question{Request: q.Request, Bindings: slices.Clone(q.Bindings), Type: q.Type}
	for i, b := range now.Bindings {
		if n := state.node(b.Node.Name); n.Name != "" {
			now.Bindings[i].Node.BootID = n.BootID
		}
	}
	s.judged(ctx, in, &now, readings)
	return now
}
