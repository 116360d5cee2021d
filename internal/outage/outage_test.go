package outage

import (
	"testing"
	"time"
)

func TestAnOutageFollowsFromItsFacts(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time {
		return time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC).Add(time.Duration(s) * time.Second)
	}
	fact := func(k Kind, s int) Fact { return Fact{Kind: k, At: at(s)} }
	listed := Fact{Kind: Listed, Before: Before{ID: "a", Asked: at(0)}}
	agreed := func(s int, boot string) Fact { return Fact{Kind: Agreed, At: at(s), Node: Now{ID: boot}} }
	down := func(s int) Fact { return Fact{Kind: Seen, At: at(s), Node: Now{ID: "a"}} }
	ready := func(s int, boot string, since int) Fact {
		return Fact{Kind: Seen, At: at(s), Ready: true, Node: Now{ID: boot, Ready: at(since)}}
	}
	booting := Fact{Kind: Seen, At: at(5), Node: Now{ID: "b"}}
	offAgain := Fact{Kind: MachineOff, At: at(7), Node: Now{ID: "b"}}
	silent := ready(9, "b", 8)
	silent.Silent = true
	for name, c := range map[string]struct {
		facts    []Fact
		step     Step
		awaited  bool
		returned bool
	}{
		"asked":                        {[]Fact{listed, ready(1, "a", -9)}, StepAsked, false, false},
		"not Ready":                    {[]Fact{listed, down(1)}, StepDown, false, false},
		"off":                          {[]Fact{listed, down(1), fact(MachineOff, 2)}, StepOff, false, false},
		"agreed to power on":           {[]Fact{listed, fact(MachineOff, 2), agreed(3, "a")}, StepOff, true, false},
		"powered on":                   {[]Fact{listed, fact(MachineOff, 2), agreed(3, "a"), fact(Sent, 4)}, StepOn, true, false},
		"it is still off":              {[]Fact{listed, fact(MachineOff, 2), agreed(3, "a"), fact(Sent, 4), fact(MachineOff, 5)}, StepOn, true, false},
		"off again after the power-on": {[]Fact{listed, fact(MachineOff, 2), agreed(3, "a"), fact(Sent, 4), fact(PoweredOn, 5), fact(MachineOff, 6)}, StepOff, false, false},
		"an old reading after it":      {[]Fact{listed, fact(MachineOff, 2), agreed(3, "a"), fact(Sent, 4), fact(PoweredOn, 5), fact(MachineOff, 3)}, StepOn, true, false},
		"not powered on after all":     {[]Fact{listed, fact(MachineOff, 2), agreed(3, "a"), fact(Sent, 4), fact(NotSent, 5)}, StepOff, false, false},
		"another boot":                 {[]Fact{listed, fact(MachineOff, 2), agreed(3, "a"), fact(Sent, 4), down(5), ready(9, "b", 8)}, StepReady, false, true},
		"booted, and not Ready yet":    {[]Fact{listed, fact(MachineOff, 2), fact(Sent, 4), booting}, StepBooted, true, false},
		"Ready later":                  {[]Fact{listed, fact(MachineOff, 2), fact(Sent, 4), booting, ready(9, "b", 8)}, StepReady, false, true},
		"off again while it boots":     {[]Fact{listed, fact(MachineOff, 2), fact(Sent, 4), booting, fact(PoweredOn, 6), offAgain, booting}, StepOff, false, false},
		"another boot, and silent":     {[]Fact{listed, fact(MachineOff, 2), fact(Sent, 4), silent}, StepOn, true, false},
		"the boot of its host":         {[]Fact{listed, fact(MachineOff, 2), fact(Sent, 4), ready(9, "a", 8)}, StepReady, false, true},
		"somebody powers it on":        {[]Fact{listed, fact(MachineOff, 2), fact(MachineOn, 4), ready(9, "b", 8)}, StepReady, false, false},
		"Ready before it goes off":     {[]Fact{listed, fact(Sent, 4), ready(5, "a", -9)}, StepOn, true, false},
		"can't tell, and may go off":   {[]Fact{listed, fact(Sent, 4), ready(9, "a", 8)}, StepOn, true, false},
		"can't tell, and settled":      {[]Fact{listed, fact(Sent, 4), fact(Settled, 5), ready(9, "a", 8)}, StepReady, false, true},
		"asked, and settled just now":  {[]Fact{listed, fact(Settled, 5), ready(60, "a", -9)}, StepAsked, false, false},
		"stayed on":                    {[]Fact{listed, fact(Settled, 5), ready(66, "a", -9)}, StepReady, false, false},
		"powered on, and stayed on":    {[]Fact{listed, fact(Sent, 4), fact(Settled, 5), ready(305, "a", -9)}, StepReady, false, false},
		"it was on":                    {[]Fact{agreed(3, "a"), fact(Sent, 4), ready(305, "a", -9)}, StepReady, false, false},
		"nobody asked":                 {[]Fact{{Kind: MachineOff, At: at(2), Node: Now{ID: "a"}}, ready(9, "b", 8)}, StepReady, false, false},
		"asked again":                  {[]Fact{listed, ready(9, "b", 8), {Kind: Listed, Before: Before{ID: "b", Asked: at(20)}}, ready(21, "b", 8)}, StepAsked, false, false},
		"a request that is known":      {[]Fact{listed, ready(9, "b", 8), listed}, StepReady, false, false},
		"off after its return":         {[]Fact{listed, ready(9, "b", 8), fact(MachineOff, 10)}, StepOff, false, false},
	} {
		var o Outage
		for _, f := range c.facts {
			was := o.Step()
			if changed := o.Apply(f); changed != (o.Step() != was) {
				t.Errorf("%s: %+v: changed %v", name, f, changed)
			}
		}
		if o.Step() != c.step || o.Awaited() != c.awaited || o.Returned() != c.returned {
			t.Errorf("%s: step %d, awaited %v, returned %v", name, o.Step(), o.Awaited(), o.Returned())
		}
	}
}

func TestAReturnCountsFromTheFirstRequestAfterTheOperatorAgreed(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(1_800_000_000+int64(s), 0) }
	var o Outage
	for _, s := range []struct {
		kind Kind
		at   int
		want int
	}{{Agreed, 1, 0}, {Sent, 2, 2}, {Sent, 9, 2}, {Agreed, 20, 2}, {Sent, 21, 21}, {Sent, 30, 21}} {
		o.Apply(Fact{Kind: s.kind, At: at(s.at)})
		if on := o.At[StepOn]; s.want > 0 && !on.Equal(at(s.want)) {
			t.Errorf("at %d: %s", s.at, on)
		}
	}
}
