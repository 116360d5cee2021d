package tui

import (
	"fmt"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// cancelTwice is how long a second "stop" cancels what is in flight.
const cancelTwice = 5 * time.Second

// load carries out the load keys.
func (m *Model) load(a action) {
	run, z := m.s.f.Load, &m.s.sizes
	switch a {
	case actStop:
		m.stop()
		return
	case actBurst:
		z.last = loadgen.Burst
	case actHold:
		z.last = loadgen.Hold
	case actRate:
		z.last = loadgen.Rate
	case actMore, actLess:
		z.step(a == actMore)
		m.say(z.text(z.last))
		if !run.Active || run.Spec.Shape != z.last || z.last == loadgen.Burst {
			return
		}
	}
	if (a == actHold || a == actRate) && run.Active && run.Spec.Shape == z.last {
		m.opts.Send(view.StopLoad{})
		m.say(string(z.last) + " stopped; what is in flight goes on")
		return
	}
	if m.s.f.LoadReady != "" {
		m.say(m.s.f.LoadReady)
		return
	}
	m.opts.Send(view.StartLoad{Spec: z.spec()})
	if a == actBurst {
		m.say(fmt.Sprintf("sending %d", z.burst))
	}
}

// stop stops sending, and at the second press cancels what is in flight.
func (m *Model) stop() {
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

func (z *sizes) spec() loadgen.Spec {
	switch z.last {
	case loadgen.Hold:
		return loadgen.Spec{Shape: loadgen.Hold, N: z.hold}
	case loadgen.Rate:
		return loadgen.Spec{Shape: loadgen.Rate, PerSecond: z.rate}
	}
	return loadgen.Spec{Shape: loadgen.Burst, N: z.burst}
}

func (z *sizes) text(sh loadgen.Shape) string {
	switch sh {
	case loadgen.Hold:
		return fmt.Sprintf("hold %d", z.hold)
	case loadgen.Rate:
		return fmt.Sprintf("rate %s/s", number(z.rate))
	}
	return fmt.Sprintf("burst %d", z.burst)
}

// step changes the size used last by one.
func (z *sizes) step(more bool) {
	by := -1
	if more {
		by = 1
	}
	switch z.last {
	case loadgen.Hold:
		z.hold = min(max(1, z.hold+by), maxSize)
	case loadgen.Rate:
		if z.rate+float64(by) >= 1 {
			z.rate = min(z.rate+float64(by), maxSize)
		}
	default:
		z.burst = min(max(1, z.burst+by), maxSize)
	}
}
