package tui

import (
	"fmt"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// cancelTwice is how long a second "stop" cancels what is in flight.
const cancelTwice = 5 * time.Second

// startLoad starts a shape of load; a hold or rate that runs is stopped.
func startLoad(shape loadgen.Shape) func(*Model) {
	return func(m *Model) {
		run, z := m.s.f.Load, &m.s.sizes
		z.last = shape
		if shape != loadgen.Burst && run.Active && run.Spec.Shape == shape {
			m.opts.Send(view.StopLoad{})
			m.say("sending stopped; what is in flight goes on")
			return
		}
		if sendLoad(m) && shape == loadgen.Burst {
			m.say(fmt.Sprintf("sending %d", z.burst))
		}
	}
}

// changeLoad changes the size used last by one, and that of the load that runs.
func changeLoad(by int) func(*Model) {
	return func(m *Model) {
		run, z := m.s.f.Load, &m.s.sizes
		before := z.text(z.last)
		z.step(by)
		m.say(before + " " + m.s.t.arrow + " " + z.text(z.last))
		if run.Active && run.Spec.Shape == z.last && z.last != loadgen.Burst {
			sendLoad(m)
		}
	}
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
		return fmt.Sprintf("%d in flight", z.hold)
	case loadgen.Rate:
		return fmt.Sprintf("%s a second", number(z.rate))
	}
	return fmt.Sprintf("burst of %d", z.burst)
}

// step changes the size used last.
func (z *sizes) step(by int) {
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
