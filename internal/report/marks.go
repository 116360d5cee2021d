package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// entriesMost bounds the lines of the timeline in a report.
const entriesMost = 60

// markGap is how close two marks may come, in the picture's units; events
// within it share one number.
const markGap = 17.0

// gap is markGap in seconds.
func (a axis) gap() float64 { return markGap / (plotRight - plotLeft) * (a.to - a.from) }

// mark is a numbered moment: what happened at (nearly) the same time.
type mark struct {
	Number  int
	At      float64 // seconds from base
	Entries []entry
}

// entry is one line of the timeline: what happened to one or more subjects.
type entry struct {
	At       float64
	Until    float64 // when it happened to the last subject, or a count was the last
	Lane     view.Lane
	Subjects []string
	Text     string
	Level    view.Level
	// of a count: from and to what, and the least between
	from, to, least string
}

// what is what happened, and until when if that took longer.
func (e entry) what() string {
	text := e.Text
	text += map[bool]string{true: ", " + e.least + " at the lowest"}[rises(e.least, e.from) && rises(e.least, e.to)]
	return until(text, e.At, e.Until)
}

// until adds to what happened to several when it had happened to the last of them, unless that was at once.
func until(what string, first, last float64) string {
	if offset(first) != offset(last) {
		what = strings.TrimSpace(what + " (by " + offset(last) + ")")
	}
	return what
}

// who names the subjects, or counts them if there are many.
func (e entry) who() string { return strings.Join(few(e.Subjects, "more"), ", ") }

// weights say how much the events of a lane tell the reader of a report, from 1 to
// 9. What Kubernetes' own events say is in other lanes as well.
var weights = map[view.Lane]int{
	view.LaneOperator: 9, view.LaneNode: 9, view.LaneLink: 9, view.LanePower: 4, view.LaneLoad: 8, view.LaneDeployment: 7,
	view.LaneHeartbeat: 7, view.LaneEndpoints: 7, view.LaneTaint: 3, view.LaneEvent: 2,
}

// weight is the importance of an event.
func weight(e view.Event) int {
	switch {
	case e.Lane == view.LanePower && (e.From != "" || e.To != "" || e.Level >= view.Warning):
		return 9
	case e.Lane == view.LaneDeployment && e.Level != view.Info:
		return 8
	case e.Code == view.CodePodStatus && (e.Is == cluster.HealthChanging || e.From == "") || e.Lane == view.LanePod && e.Level == view.Bad,
		e.Lane == view.LaneTaint && strings.HasSuffix(e.From+e.To, ":NoExecute"):
		return 6
	}
	return cmp.Or(weights[e.Lane], 5)
}

// heaviest is the weight of the events that are left out last.
const heaviest = 9

// marksOf chooses the events that tell most: of a weight with which those of the outage fit, then, as far as
// there is room, those of the past, the latest first. It puts those that are close together on the axis
// under one number. cut tells what had no room whatever its weight.
func marksOf(r *record.Record, a axis) (marks []mark, cut string) {
	all := view.InOrder(r.Events)
	earlier := 0
	for earlier < len(all) && past(r, all[earlier].When().By) {
		earlier++
	}
	least := 5
	during := weighing(r, a, all[earlier:], least)
	for ; len(during) > entriesMost && least < heaviest; least++ {
		during = weighing(r, a, all[earlier:], least+1)
	}
	before := weighing(r, a, all[:earlier], least)
	told := slices.Concat(before, during)
	if drop := min(len(told)-entriesMost, len(before)); drop > 0 {
		told = told[drop:]
		cut = " There was no room for those before " + offset(told[0].At) + "."
	}
	if len(told) > entriesMost {
		told = told[:entriesMost]
		cut += " There was no room for those after " + offset(told[entriesMost-1].At) + "."
	}
	for _, e := range told {
		if len(marks) == 0 || a.x(e.At)-a.x(marks[len(marks)-1].At) >= markGap {
			marks = append(marks, mark{Number: len(marks) + 1, At: e.At})
		}
		m := &marks[len(marks)-1]
		m.Entries = append(m.Entries, e)
	}
	return marks, cut
}

// weighing are the lines of the events of at least a weight, which are in the order of time.
func weighing(r *record.Record, a axis, events []view.Event, least int) (out entries) {
	events = slices.DeleteFunc(slices.Clone(events), func(e view.Event) bool { return weight(e) < least })
	subjects := view.SubjectsOf(events)
	begins := append(text.Each(nodesOf(r), func(n NodeFacts) time.Time { return n.From }), base(r))
	for _, e := range events {
		e.Subject = subjects.Name(e)
		at := e.When().By.Sub(base(r)).Seconds()
		since := at - a.gap()
		for _, b := range begins {
			if s := b.Sub(base(r)).Seconds(); s <= at {
				since = max(since, s)
			}
		}
		out.add(e, at, since)
	}
	return out
}

// joinGap is for how many seconds at most an entry waits for the next subject, or for a count to turn.
const joinGap = 1.0

// entries are lines of the timeline, in the order in which they began.
type entries []entry

// add puts in an event: it goes on with an entry of the same subject that ended where it begins (16 → 15,
// 15 → 13; back up only at once, as in a rollout), joins one that tells the same of other subjects, or is
// an entry of its own. It goes on with none that began before since. Different subjects have different names.
func (all *entries) add(e view.Event, at, since float64) {
	subject, text := clean(e.Subject), clean(e.Text)
	from, to := clean(e.From), clean(e.To)
	chained := (e.Change == cluster.ChangeEndpoints || e.Change == cluster.ChangeReplicas) && from != "" && to != ""
	for i := len(*all) - 1; i >= 0 && (*all)[i].At >= since; i-- {
		o := &(*all)[i]
		if o.Lane != e.Lane {
			continue
		}
		if chained && slices.Equal(o.Subjects, []string{subject}) && o.to == from && (rises(o.from, o.to) == rises(from, to) || at-o.Until < joinGap) {
			e.From = o.from
			o.Text = clean(e.Sentence())
			o.Until, o.to, o.Level = at, to, max(o.Level, e.Level)
			if rises(to, o.least) {
				o.least = to
			}
			return
		}
		again := slices.Contains(o.Subjects, subject)
		if again && (!chained || o.to != "") {
			break // else it would read as if this was before that
		}
		if !again && o.Text == text && at-o.Until <= joinGap {
			o.Subjects = append(o.Subjects, subject)
			o.Until, o.Level = at, max(o.Level, e.Level)
			return
		}
	}
	n := entry{At: at, Until: at, Lane: view.Lane(clean(string(e.Lane))), Subjects: []string{subject}, Text: text, Level: e.Level}
	if chained {
		n.from, n.to, n.least = from, to, to
	}
	*all = append(*all, n)
}

// rises reports whether a count, "3" or "3/6", becomes more.
func rises(from, to string) bool {
	var a, b int
	fmt.Sscanf(from, "%d", &a)
	fmt.Sscanf(to, "%d", &b)
	return b > a
}

var tones = map[view.Level]tone{view.Good: good, view.Warning: warning, view.Bad: bad}

// timelineOf is the key to the picture's marks.
func timelineOf(r *record.Record) section {
	t := section{ID: "timeline", Title: "Timeline", Nothing: cell{Text: "No event was recorded."}}.columns("#mark", "#time", "lane", "subject", "what")
	marks, cut := marksOf(r, axisOf(r))
	t.say(plain, fmt.Sprintf("The events that tell most; those close together share a number. All %d are in %s.",
		len(r.Events), record.EventsFile)+cut)
	for _, m := range marks {
		for i, e := range m.Entries {
			number := map[bool]string{true: itoa(m.Number)}[i == 0]
			t.row(number, offset(e.At), string(e.Lane), e.who(), cell{e.what(), tones[e.Level]})
		}
	}
	return t
}
