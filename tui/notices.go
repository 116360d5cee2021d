package tui

import (
	"cmp"
	"slices"
	"time"

	"lightsout/internal/view"
)

// How long a notice stands on the screen: the answer to a key, and what nobody
// asked for.
const (
	answerFor = 4 * time.Second
	noticeFor = 15 * time.Second
)

// mostNotices is how many are kept.
const mostNotices = 100

// notice is a sentence for the operator.
type notice struct {
	text   string
	copied string // the path or command in it; empty if there is none
	at     time.Time
	stands time.Duration
	st     style
	level  view.Level
}

// notices are the newest sentences, oldest first.
type notices struct{ all []notice }

// add adds a sentence, which takes the place of those that stand; a warning returns after it, while it stands.
func (n *notices) add(x notice) {
	for i := range n.all {
		n.all[i].stands *= time.Duration(btoi(n.all[i].level >= view.Warning))
	}
	n.all = append(n.all, x)
	n.all = n.all[max(0, len(n.all)-mostNotices):]
}

// standing is the newest that stands on the screen now.
func (n *notices) standing(now time.Time) (x notice, ok bool) {
	for _, x := range slices.Backward(n.all) {
		if now.Sub(x.at) < x.stands {
			return x, true
		}
	}
	return notice{}, false
}

// newest returns the last message, or the path or command in it; empty if there is
// none.
func (n *notices) newest() (text string) {
	for _, x := range n.all {
		text = cmp.Or(x.copied, x.text)
	}
	return text
}

// facts lists them, the newest first.
func (n *notices) facts(s *scene) []fact {
	var out []fact
	for _, x := range slices.Backward(n.all) {
		out = append(out, fact{label: x.at.Local().Format("15:04:05"), value: s.t.text(x.text), st: x.st})
	}
	if len(out) == 0 {
		return []fact{{label: "no messages yet"}}
	}
	return out
}

func openNotices(m *Model) {
	m.dialogs.open(&factsDialog{heading: "Messages", facts: m.notices.facts, copied: m.notices.newest, copies: "the newest"})
}
