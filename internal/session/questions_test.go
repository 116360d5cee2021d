package session

import (
	"fmt"
	"testing"

	"lightsout/internal/view"
)

// A question that follows its matter is another one when that has changed, so
// that what was meant for the former is no answer; it goes when nothing is left.
func TestAQuestionFollowsItsMatter(t *testing.T) {
	l, off, answers := NewQuestions(), 2, 0
	l.follow(func() (view.Question, bool) {
		return view.Question{Title: fmt.Sprintf("Leave with %d off?", off), Choices: []view.Choice{{ID: "no"}, {ID: "leave"}}}, off > 0
	}, func(view.Answer) { answers++ })
	two := *l.first()
	l.renew()
	if got := l.first(); got == nil || got.ID != two.ID {
		t.Errorf("another question although nothing has changed: %+v", got)
	}
	off = 1
	l.renew()
	one := *l.first()
	if one.ID == two.ID || one.Title != "Leave with 1 off?" {
		t.Errorf("after a change: %+v, was %+v", one, two)
	}
	if l.answered(view.Answer{Question: two.ID, Choice: "leave"}); answers != 0 {
		t.Error("an answer to the former question was taken")
	}
	off = 0
	if l.renew(); l.first() != nil {
		t.Errorf("still asked: %+v", l.first())
	}
	off = 1
	l.follow(func() (view.Question, bool) { return one, true }, func(view.Answer) { answers++ })
	if l.answered(view.Answer{Question: l.first().ID, Choice: "leave"}); answers != 1 || l.first() != nil {
		t.Errorf("%d answers, open %+v", answers, l.first())
	}
}
