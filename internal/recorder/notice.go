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

// State is the stage of an outage that a notice is about.
type State string

// States of an outage in notices.
const (
	StateBegan   State = "began"
	StateChanged State = "changed" // there are new signs
	StateEnded   State = "ended"
)

// Notice is what hooks receive: the command as JSON on its standard input.
type Notice struct {
	State    State           `json:"state"`
	Sentence string          `json:"sentence"`
	Severity record.Severity `json:"severity"`
	Cluster  string          `json:"cluster"`
	Zero     time.Time       `json:"zero"`
	Ended    time.Time       `json:"ended,omitzero"`
	// Record is the folder of the record; Report the path of its report, once it exists.
	Record string `json:"record"`
	Report string `json:"report,omitempty"`
}

// Health is what a recorder saw and did at a time.
type Health struct {
	At time.Time
	// Connected: the API server answers. Recording: there is an outage. Leads: this recorder reports it.
	Connected, Recording, Leads bool
}

const (
	// noticeEvery is the least time between two notices of an outage, and noticesMost their
	// number.
	noticeEvery = 5 * time.Second
	noticesMost = 20
)

// notifySigns sends a notice of the outage, and of later signs, if this recorder leads.
func (o *incident) notifySigns(now time.Time) {
	severity, _, clients := o.severity()
	news := o.inNotice != len(o.found.Signs) || o.found.Severity != severity
	if !o.r.lead.leads || !news || o.notices >= noticesMost || now.Sub(o.notified) < noticeEvery {
		return
	}
	sentence := sentenceOf(o.found.Signs, clients)
	if err := o.r.rolling.Err(); err != nil {
		sentence += " lightsout cannot write its record: " + oneLine(err) + "."
	}
	state := StateChanged
	if o.notices == 0 {
		state = StateBegan
	}
	o.notices, o.notified, o.inNotice, o.found.Severity = o.notices+1, now, len(o.found.Signs), severity
	o.notify(state, sentence, "")
}

// notify reports the outage: the end to hooks too, unless this recorder has told them nothing.
func (o *incident) notify(state State, sentence, path string) {
	n := Notice{State: state, Sentence: sentence, Severity: o.found.Severity, Zero: o.zero, Record: o.dir, Report: path}
	if state == StateEnded {
		n.Ended = o.r.opt.Now()
	}
	o.r.report(n, o.notices > 0)
}

// report prints a notice, and gives it to the hooks.
func (r *Recorder) report(n Notice, hooks bool) {
	r.opt.Print(n.Sentence)
	n.Cluster = r.opt.Cluster
	if hooks {
		r.opt.Notify(n)
	}
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
