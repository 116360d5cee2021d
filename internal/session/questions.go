package session

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"lightsout/internal/view"
)

// Questions asks the operator, one question after the other. It exists before the
// session, so that connections can ask. Ask is safe for concurrent use; only the
// session's loop may call the other methods.
type Questions struct {
	changed chan struct{} // signalled when Ask has added or withdrawn one

	mu   sync.Mutex
	open []*asked // the first is shown
	made int
}

// asked is a question and what to do with its answer.
type asked struct {
	question *view.Question
	answer   func(view.Answer)
	// now returns the present version of the question, and whether it still applies.
	now func() (view.Question, bool)
}

// NewQuestions makes an empty list.
func NewQuestions() *Questions { return &Questions{changed: make(chan struct{}, 1)} }

// Ask shows q and waits for its answer. It returns the context's error when
// that ends first.
func (l *Questions) Ask(ctx context.Context, q view.Question) (view.Answer, error) {
	got := make(chan view.Answer, 1)
	shown := l.ask(q, func(a view.Answer) { got <- a })
	signal(l.changed)
	select {
	case a := <-got:
		return a, nil
	case <-ctx.Done():
		l.mu.Lock()
		l.open = slices.DeleteFunc(l.open, func(x *asked) bool { return x == shown })
		l.mu.Unlock()
		signal(l.changed)
		return view.Answer{}, ctx.Err()
	}
}

// ask queues a question that does not change.
func (l *Questions) ask(q view.Question, answer func(view.Answer)) *asked {
	return l.follow(func() (view.Question, bool) { return q, true }, answer)
}

func (l *Questions) numbered(q view.Question) *view.Question {
	l.made++
	q.ID = fmt.Sprintf("q%d", l.made)
	return &q
}

// follow queues a question about what may change while it is open; the first in the queue is shown.
func (l *Questions) follow(now func() (view.Question, bool), answer func(view.Answer)) *asked {
	q, _ := now()
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &asked{l.numbered(q), answer, now}
	l.open = append(l.open, a)
	return a
}

// renew replaces each question whose facts have changed, and withdraws each that no longer
// applies. An answer to a replaced question does nothing.
func (l *Questions) renew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = slices.DeleteFunc(l.open, func(a *asked) bool {
		q, still := a.now()
		q.ID = a.question.ID
		if still && !reflect.DeepEqual(q, *a.question) {
			a.question = l.numbered(q)
		}
		return !still
	})
}

// first returns the question on the screen; nil if there is none.
func (l *Questions) first() *view.Question {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) == 0 {
		return nil
	}
	return l.open[0].question
}

// answered checks an answer against its question before it is acted on: the
// screen is not trusted with the guards.
func (l *Questions) answered(a view.Answer) {
	l.mu.Lock()
	i := slices.IndexFunc(l.open, func(x *asked) bool { return x.question.ID == a.Question })
	if i < 0 {
		l.mu.Unlock()
		return
	}
	q := l.open[i]
	l.open = slices.Delete(l.open, i, i+1)
	l.mu.Unlock()
	choices := q.question.Choices
	known := slices.ContainsFunc(choices, func(c view.Choice) bool { return c.ID == a.Choice })
	acts := len(choices) > 0 && a.Choice != choices[0].ID
	if !known || (acts && (q.question.Refused || q.question.Type != "" && a.Typed != q.question.Type)) {
		a.Choice = view.ChoiceNo
	}
	q.answer(a)
}
