package tui

import (
	"cmp"
	"slices"
	"time"
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
	asked  bool // the answer to a key
	long   bool // it stands as long as what nobody asked for
}

// notices are the newest sentences, oldest first.
type notices struct{ all []notice }

func (n *notices) add(x notice) {
	n.all = append(n.all, x)
	n.all = n.all[max(0, len(n.all)-mostNotices):]
}

// answer is the answer to a key that stands on the screen now.
func (n *notices) answer(now time.Time) (notice, bool) {
	for _, x := range slices.Backward(n.all) {
		if x.asked {
			return x, now.Sub(x.at) < answerFor || x.long && now.Sub(x.at) < noticeFor
		}
	}
	return notice{}, false
}

// newest returns the last message, or the path or command in it; empty if there is
// none.
func (n *notices) newest() string {
	if len(n.all) == 0 {
		return ""
	}
	last := n.all[len(n.all)-1]
	return cmp.Or(last.copied, last.text)
}

// facts lists them, the newest first.
func (n *notices) facts(s *scene) []fact {
	var out []fact
	for _, x := range slices.Backward(n.all) {
		st := style("")
		if !x.asked {
			st = s.t.fresh
		}
		out = append(out, fact{label: x.at.Local().Format("15:04:05"), value: s.t.text(x.text), st: st})
	}
	if len(out) == 0 {
		return []fact{{label: "no messages yet"}}
	}
	return out
}

func openNotices(m *Model) {
	m.dialogs.open(&factsDialog{heading: "Messages", facts: m.notices.facts, copied: m.notices.newest, copies: "the newest"})
}
