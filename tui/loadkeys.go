package tui

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// cancelTwice is how long a second "stop" cancels what is in flight.
const cancelTwice = 5 * time.Second

// startLoad starts a shape of load; a hold or rate that runs is stopped.
func startLoad(shape loadgen.Shape) func(*Model) {
	return func(m *Model) {
		z := &m.s.sizes
		z.last = shape
		if runs(m) {
			m.opts.Send(view.StopLoad{})
			m.say("sending stopped; what is in flight goes on")
			return
		}
		if sendLoad(m) && shape == loadgen.Burst {
			m.say("sending " + z.number(shape))
		}
	}
}

// changeLoad changes the size used last by one, and that of the load that runs.
func changeLoad(by int) func(*Model) {
	return func(m *Model) {
		z := &m.s.sizes
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

// sendLoad asks for the load chosen last, and says why where there can be none.
func sendLoad(m *Model) bool {
	if why := m.s.f.LoadReady; why != "" {
		m.say(why)
		return false
	}
	m.opts.Send(view.StartLoad{Spec: m.s.sizes.spec()})
	return true
}

// stopLoad stops sending, and at the second press cancels what is in flight.
func stopLoad(m *Model) {
	now := m.opts.Now()
	inFlight := m.s.f.Load.Totals.InFlight()
	switch {
	case now.Before(m.cancelAt):
		m.cancelAt = time.Time{}
		m.opts.Send(view.StopLoad{Cancel: true})
		m.say("cancelling what is in flight")
	case !m.s.f.Load.Active && inFlight == 0:
		m.say("nothing is being sent")
	default:
		m.cancelAt = now.Add(cancelTwice)
		m.opts.Send(view.StopLoad{})
		m.say(fmt.Sprintf("sending stopped; c again cancels the %d in flight", inFlight))
	}
}

// sizes are what the load keys send: the operator changes them with +, - and n.
type sizes struct {
	of   map[loadgen.Shape]float64
	last loadgen.Shape // used last
}

// maxSize is the largest load that can be asked for by keyboard.
const maxSize = 100000

// loadWords are what shapes of load are called.
var loadWords = map[loadgen.Shape]struct{ title, label, size, keys string }{
	loadgen.Burst: {"Burst", "requests at once:", "burst of %s", "now %s; b sends them"},
	loadgen.Hold:  {"Keep in flight", "requests in flight:", "%s in flight", "now %s; l starts and stops it"},
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

// set reads the size used last, and says in a sentence why it can't be that.
func (z *sizes) set(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	switch ok := err == nil && n > 0 && n <= maxSize; {
	case z.last == loadgen.Rate && !ok:
		return fmt.Sprintf("a number above 0, at most %d, please", maxSize)
	case z.last != loadgen.Rate && (!ok || n != math.Trunc(n)):
		return fmt.Sprintf("a whole number from 1 to %d, please", maxSize)
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
			if runs(m) && m.s.f.LoadReady == "" {
				return view.StartLoad{Spec: z.spec()}, ""
			}
			return nil, ""
		},
	})
}
