package tui

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// cancelTwice is the time within which a second "stop" cancels the requests in flight.
const cancelTwice = 5 * time.Second

// startLoad starts a shape of load; a hold or rate that runs is stopped.
func startLoad(shape loadgen.Shape) func(*Model) {
	return func(m *Model) {
		z := &m.s.sizes
		z.last = shape
		if runs(m) {
			if m.active.paneSpec != requestsSpec {
				m.say("this load runs already: c stops it, and 4 goes to the requests")
				return
			}
			m.opts.Send(view.StopLoad{})
			m.say("sending stopped; the requests in flight continue")
			return
		}
		if sendLoad(m) && shape == loadgen.Burst && !wantsLoad(m).Ask && !m.s.f.Production { // otherwise a question opens
			m.say("sending " + z.number(shape))
		}
	}
}

// changeLoad changes the size used last by one, and that of the load that runs.
func changeLoad(by int) func(*Model) {
	return func(m *Model) {
		z := &m.s.sizes
		if runs(m) && m.active.paneSpec != requestsSpec {
			m.say("a load is running: 4 goes to the requests, where + and - change it")
			return
		}
		before := z.text()
		z.step(by)
		m.say(before + " " + m.s.t.arrow + " " + z.text())
		if runs(m) {
			sendLoad(m)
		}
	}
}

// runs reports whether the load used last is under way and can be changed, or
// stopped: a burst can't.
func runs(m *Model) bool {
	run, last := m.s.f.Load, m.s.sizes.last
	return run.Active && run.Spec.Shape == last && last != loadgen.Burst
}

// sendLoad requests the load chosen last, or shows the reason why it cannot.
func sendLoad(m *Model) bool {
	if why := m.s.f.NoLoad; why != "" {
		m.say(why)
		return false
	}
	m.opts.Send(wantsLoad(m))
	return true
}

// wantsLoad returns the intent for the load chosen last. Outside the requests pane the
// operator may have meant another key: then the session asks.
func wantsLoad(m *Model) view.StartLoad {
	return view.StartLoad{Spec: m.s.sizes.spec(), Ask: m.active.paneSpec != requestsSpec}
}

// stopLoad stops sending, and at the next press cancels the requests in flight. Outside
// the requests pane the operator may have meant another key: there the first press only
// says so.
func stopLoad(m *Model) {
	now := m.opts.Now()
	inFlight := m.s.f.Load.Totals.InFlight()
	switch {
	case now.Before(m.cancelAt):
		m.cancelAt = time.Time{}
		m.opts.Send(view.StopLoad{Cancel: true})
		m.say("cancelling the requests in flight")
	case !m.s.f.Load.Active && inFlight == 0:
		m.say("no load is running (Y copies the name under the cursor; cordon: :cordon)")
	case m.active.paneSpec != requestsSpec && !now.Before(m.stopAt):
		m.stopAt = now.Add(cancelTwice)
		m.say("c again stops sending")
	default:
		m.cancelAt = now.Add(cancelTwice)
		m.opts.Send(view.StopLoad{})
		if inFlight == 0 {
			m.say("sending stopped; no request is in flight")
			return
		}
		m.say(fmt.Sprintf("sending stopped with %d in flight; c again cancels them", inFlight))
	}
}

// sizes are the sizes that the load keys use: the operator changes them with +, - and
// n.
type sizes struct {
	of   map[loadgen.Shape]float64
	last loadgen.Shape // used last
}

// maxSize is the largest load that the operator can request by keyboard.
const maxSize = 100000

// loadWords are what shapes of load are called.
var loadWords = map[loadgen.Shape]struct{ title, label, size, keys string }{
	loadgen.Burst: {"Burst", "requests at once:", "burst of %s", "now %s; b sends them"},
	loadgen.Hold:  {"Hold", "requests in flight:", "%s in flight", "now %s; h starts and stops it"},
	loadgen.Rate:  {"Rate", "requests a second:", "%s a second", "now %s; R starts and stops it"},
}

func (z *sizes) spec() loadgen.Spec {
	if z.last == loadgen.Rate {
		return loadgen.Spec{Shape: z.last, PerSecond: z.of[z.last]}
	}
	return loadgen.Spec{Shape: z.last, N: int(z.of[z.last])}
}

func (z *sizes) number(sh loadgen.Shape) string { return number(z.of[sh]) }

func (z *sizes) text() string { return fmt.Sprintf(loadWords[z.last].size, z.number(z.last)) }

// step changes the size used last.
func (z *sizes) step(by int) {
	if n := z.of[z.last] + float64(by); n >= 1 {
		z.of[z.last] = min(n, maxSize)
	}
}

// set parses the size used last; the result is the reason, in a sentence, why it is
// invalid.
func (z *sizes) set(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	switch ok := err == nil && n > 0 && n <= maxSize; {
	case z.last == loadgen.Rate && !ok:
		return fmt.Sprintf("type a number above 0, at most %d", maxSize)
	case z.last != loadgen.Rate && (!ok || n != math.Trunc(n)):
		return fmt.Sprintf("type a whole number from 1 to %d", maxSize)
	}
	z.of[z.last] = n
	return ""
}

// openNumber asks for the size used last.
func openNumber(m *Model) {
	z := &m.s.sizes
	words := loadWords[z.last]
	help := fmt.Sprintf(words.keys, z.number(z.last))
	m.dialogs.open(&promptDialog{
		heading: words.title, label: words.label, help: func() string { return help }, digits: true, in: newInput(false),
		accept: func(text string) (view.Intent, string) {
			if fault := z.set(text); fault != "" {
				return nil, fault
			}
			m.say(z.text())
			if runs(m) && m.s.f.NoLoad == "" {
				return wantsLoad(m), ""
			}
			return nil, ""
		},
	})
}
