package recorder

import (
	"cmp"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

const (
	// noticeEvery is the least time between two notices of an outage, and noticesMost their
	// number.
	noticeEvery = 5 * time.Second
	noticesMost = 20
)

// notifySigns sends a notice of the outage, and of later signs, if this recorder leads.
func (o *incident) notifySigns(now time.Time) {
	severity, why := o.severity()
	news := o.inNotice != len(o.found.Signs) || o.found.Severity != severity
	if !o.r.leads || !news || o.notices >= noticesMost || now.Sub(o.notified) < noticeEvery {
		return
	}
	sentence := sentenceOf(o.found.Signs, o.sentence(severity, why))
	if err := o.r.rolling.Err(); err != nil {
		sentence += " lightsout cannot write its record: " + oneLine(err) + "."
	}
	state := StateChanged
	if o.notices == 0 {
		state = StateBegan
	}
	o.notices, o.notified, o.inNotice, o.found.Severity = o.notices+1, now, len(o.found.Signs), severity
	o.notify(state, sentence, severity, "")
}

// notify prints a sentence and gives it to the hooks: the end too, unless this recorder
// has reported nothing.
func (o *incident) notify(state State, sentence string, severity record.Severity, path string) {
	o.r.opt.Print(sentence)
	if o.r.opt.Notify == nil || o.notices == 0 {
		return
	}
	n := Notice{State: state, Sentence: sentence, Severity: severity, Cluster: o.r.opt.Cluster, Zero: o.zero, Record: o.dir, Report: path}
	if state == StateEnded {
		n.Ended = o.r.opt.Now()
	}
	o.r.opt.Notify(n)
}

// signEvent is a sign on the timeline.
func signEvent(x record.Sign) view.Event {
	e := view.NewEvent(view.CodeOutageSign, cmp.Or(x.Subject, view.SignSubjects[x.Kind]), view.Facts{Sign: x.Kind})
	e.At, e.Seen = x.At, x.Noticed
	if x.Kind.OfNode() {
		e.Kind = string(cluster.KindNode)
	}
	return e
}

// sentenceOf describes signs, and what clients notice.
func sentenceOf(signs []record.Sign, clients string) string {
	var events []view.Event
	for _, x := range signs {
		events = append(events, signEvent(x))
	}
	return report.SoFar(events, clients)
}

// oneLine is the text of an error in a sentence.
func oneLine(err error) string { return text.Clean(strings.ReplaceAll(err.Error(), "\n", "; "), 300) }
