package recorder

import (
	"errors"
	"strings"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/text"
)

// notifyFailed tells the hooks, once, of an outage that cannot be recorded.
func (r *Recorder) notifyFailed(news []record.Sign, why error) {
	if r.opt.Notify == nil || !r.leads || r.failed != nil || errors.Is(why, errTaken) {
		return
	}
	r.failed = &Notice{State: StateBegan, Severity: record.SeverityUnknown, Cluster: r.opt.Cluster, Zero: news[0].At,
		Sentence: sentenceOf(news, false) + " lightsout cannot record it: " + oneLine(why) + "."}
	r.opt.Print(r.failed.Sentence)
	r.opt.Notify(*r.failed)
}

// endFailed tells the hooks of the end of an outage that could not be recorded, once no sign
// has shown for Options.Steady.
func (r *Recorder) endFailed(now time.Time) {
	if r.failed != nil && now.Sub(r.signs.changed) >= r.opt.Steady {
		r.closeFailed(now, "is over")
	}
}

// closeFailed tells the hooks that the recorder follows that outage no longer.
func (r *Recorder) closeFailed(now time.Time, why string) {
	n := *r.failed
	r.failed = nil
	n.State, n.Ended = StateEnded, now
	n.Sentence = "The outage that began at " + n.Zero.UTC().Format("15:04:05") + " UTC " + why + ". lightsout could not record it."
	r.opt.Print(n.Sentence)
	r.opt.Notify(n)
}

// oneLine is the text of an error in a sentence.
func oneLine(err error) string { return text.Clean(strings.ReplaceAll(err.Error(), "\n", "; "), 300) }
