package power

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lightsout/internal/outage"
)

// The facts of the table below happen in seconds after t0, to the machine of node n3.
var t0 = time.Unix(1_700_000_000, 0)

func second(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }

const minute = 60

// of makes an entry of node n3, in the lab.
func of(k EntryKind, s int, e Entry) Entry {
	e.Kind, e.At, e.Node, e.Cluster = k, second(s), "n3", labCluster
	if e.Binding.Node.Name == "" {
		e.Binding = bind("ssh", "mdx", "n3")[0]
	}
	return e
}

// begins is an intent to switch off; ends is its outcome: the request was sent a second before the poll,
// which found the machine in this state.
func begins(op string, s int) Entry {
	return of(EntryIntent, s, Entry{Op: op, Action: ActionShutdown, Heard: second(s - 1)})
}

func ends(op string, s int, stage Stage, state State, proof Proof) Entry {
	return of(EntryOutcome, s, Entry{Op: op, Action: ActionShutdown, Stage: stage, Arrival: Arrival{Accepted, second(s - 1)}, RequestedAt: second(s), State: state.String(), Proof: proof.String()})
}

// saw is a reading; boots is a node that is Ready, with this boot ID, since then.
func saw(s int, state State, proof Proof) Entry {
	e := Seen{Node: NodeRef{Name: "n3"}, Machine: bind("ssh", "mdx", "n3")[0].On, State: state, Proof: proof, RequestedAt: second(s)}.entry(labCluster)
	e.At = second(s)
	return e
}

func on(s int) Entry  { return saw(s, On, Proven) }
func off(s int) Entry { return saw(s, Off, Proven) }

func boots(s int, id string, ready int) Entry {
	e := Seen{Node: NodeRef{Name: "n3", BootID: id}, RequestedAt: second(s)}.entry(labCluster)
	e.At = second(s)
	if ready != 0 {
		e.ReadySince = second(ready)
	}
	return e
}

func with(e Entry, change func(e *Entry)) Entry {
	change(&e)
	return e
}

// state folds entries and describes the machine of n3.
func state(entries []Entry) string {
	l := newJournalState(CarriedOutWithin)
	for _, e := range entries {
		l.fold(e)
	}
	for _, requests := range l.machines() {
		switch e := stateOf(requests); e.standing() {
		case MayBeOff:
			return fmt.Sprintf("may go off until %s", e.mayGoOff().Sub(t0))
		case StandsOff:
			return map[bool]string{true: "off, proven", false: "off, presumed"}[e.proven.After(e.last.arrival.Sent)]
		}
	}
	return "on"
}

func TestWhatTheFactsSayOfAMachine(t *testing.T) {
	t.Parallel()
	refused := func(stage Stage, state State, proof Proof) Entry {
		return with(ends("1", 2, stage, state, proof), func(e *Entry) { e.Arrival.Fate, e.Text = Rejected, "403 Forbidden" })
	}
	done, presumed, unclear := ends("1", 2, StageDone, Off, Proven), ends("1", 2, StageDone, Off, Presumed), ends("1", 2, StageUncertain, On, Proven)
	unsent := of(EntryOutcome, 2, Entry{Op: "1", Action: ActionShutdown, Stage: StageFailed})
	powerOn := func(s int, wasOff int) Entry {
		return of(EntryIntent, s, Entry{Op: "on", Action: ActionOn, WasOff: second(wasOff)})
	}
	poweredOn := func(s, wasOff int) Entry {
		return of(EntryOutcome, s, Entry{Op: "on", Action: ActionOn, Stage: StageDone, Arrival: Arrival{Accepted, second(s - 1)}, WasOff: second(wasOff), State: On.String(), Proof: Proven.String(), RequestedAt: second(s)})
	}
	other := func(e Entry) Entry {
		return with(e, func(e *Entry) { e.Binding.On = &Machine{Driver: "mdx", ID: "vm-9"} })
	}
	silent := with(begins("1", 0), func(e *Entry) { e.Heard = second(-60) })
	stopped := with(presumed, func(e *Entry) { e.Arrival.Sent = second(47) })
	uuid := func(e Entry, id string) Entry {
		return with(e, func(e *Entry) { e.Binding.Node.SystemUUID = id })
	}
	moved := func(e Entry, address string) Entry {
		return with(e, func(e *Entry) { e.Binding.Node.Addresses = []string{address} })
	}
	const may = "may go off until 30m0s"
	for name, c := range map[string]struct {
		facts []Entry
		want  string
	}{
		"asked, and no more":                                        {nil, may},
		"nothing was sent":                                          {[]Entry{unsent}, "on"},
		"proven off":                                                {[]Entry{done}, "off, proven"},
		"presumed off":                                              {[]Entry{presumed}, "off, presumed"},
		"not seen off":                                              {[]Entry{unclear}, "may go off until 30m2s"},
		"its outcome, and no intent":                                {[]Entry{done}, "off, proven"},
		"refused, and on":                                           {[]Entry{refused(StageFailed, On, Proven)}, "may go off until 3m2s"},
		"refused, and unreadable":                                   {[]Entry{refused(StageUncertain, Unknown, ProofNone)}, "may go off until 3m2s"},
		"refused, and on after the time for it":                     {[]Entry{refused(StageFailed, On, Proven), on(4 * minute)}, "on"},
		"refused, and carried out":                                  {[]Entry{refused(StageFailed, On, Proven), off(1 * minute)}, "off, proven"},
		"refused, and carried out later":                            {[]Entry{refused(StageFailed, On, Proven), on(4 * minute), off(10 * minute)}, "off, proven"},
		"refused, and carried out at once":                          {[]Entry{refused(StageDone, Off, Proven), on(5)}, "on"},
		"on, but the request may still act":                         {[]Entry{on(3 * minute)}, may},
		"on for longer than the request may take":                   {[]Entry{on(31 * minute)}, "on"},
		"proven off, and on":                                        {[]Entry{done, on(5)}, "on"},
		"on in an answer from before it was off":                    {[]Entry{done, on(1)}, "off, proven"},
		"presumed off, and on":                                      {[]Entry{presumed, on(5)}, "may go off until 30m2s"},
		"presumed off, and on later":                                {[]Entry{presumed, on(31 * minute)}, "on"},
		"another machine is on":                                     {[]Entry{done, other(on(5))}, "off, proven"},
		"off before the request":                                    {[]Entry{off(-5), on(5)}, may},
		"off, on, and off again":                                    {[]Entry{done, on(5), off(60)}, "off, proven"},
		"off, on, and presumed off":                                 {[]Entry{done, on(5), saw(60, Off, Presumed)}, "on"},
		"off, on, and off an hour later, by somebody else":          {[]Entry{done, on(5), off(60 * minute)}, "on"},
		"on twice, and off in between":                              {[]Entry{done, on(5), on(70), off(60)}, "on"},
		"off, on, and asked again":                                  {[]Entry{done, on(5), begins("2", 60)}, "may go off until 31m0s"},
		"off, and asked again: nothing was sent":                    {[]Entry{done, begins("2", 60), with(unsent, func(e *Entry) { e.Op = "2" })}, "off, proven"},
		"soft, then hard":                                           {[]Entry{unclear, begins("2", 60), ends("2", 65, StageDone, Off, Proven), on(70)}, "on"},
		"the clock was slow, and is corrected meanwhile":            {[]Entry{on(31 * minute), with(unclear, func(e *Entry) { e.At, e.RequestedAt = second(31*minute+5), second(31*minute+4) })}, "may go off until 1h1m5s"},
		"an uncertain outcome after the proof":                      {[]Entry{off(2), on(5), with(unclear, func(e *Entry) { e.At, e.RequestedAt, e.State = second(9), second(8), "unknown" })}, "on"},
		"asked to power on":                                         {[]Entry{done, powerOn(60, 50)}, "off, proven"},
		"powering on, killed, and seen off before":                  {[]Entry{unclear, powerOn(60, 50), on(70)}, "on"},
		"powered on":                                                {[]Entry{unclear, powerOn(60, 50), poweredOn(70, 50)}, "on"},
		"powered on, and never seen off":                            {[]Entry{unclear, with(poweredOn(70, 0), func(e *Entry) { e.WasOff = time.Time{} })}, "may go off until 30m2s"},
		"powered on in what may be another cluster":                 {[]Entry{unclear, with(poweredOn(70, 50), func(e *Entry) { e.Cluster.UID = "" })}, "may go off until 30m2s"},
		"powered on in another cluster":                             {[]Entry{done, with(poweredOn(70, 50), func(e *Entry) { e.Cluster.UID = "uid-b" })}, "off, proven"},
		"the same boot, Ready all the time":                         {[]Entry{done, boots(5, "boot-1", -60)}, "off, proven"},
		"the same boot, Ready anew after it was proven off":         {[]Entry{done, boots(5, "boot-1", 4)}, "on"},
		"the same boot, Ready anew after it was presumed off":       {[]Entry{presumed, boots(5, "boot-1", 4)}, "off, presumed"},
		"another boot after it was presumed off":                    {[]Entry{presumed, boots(5, "boot-2", 4)}, "on"},
		"another boot, and not seen off":                            {[]Entry{boots(5, "boot-2", 4)}, may},
		"on, in a reading that overlaps the one that proves it off": {[]Entry{with(ends("1", 5, StageDone, Off, Proven), func(e *Entry) { e.Arrival.Sent, e.RequestedAt = second(1), second(3) }), on(4)}, "off, proven"},
		"on, in a reading after the one that proves it off":         {[]Entry{with(ends("1", 5, StageDone, Off, Proven), func(e *Entry) { e.Arrival.Sent, e.RequestedAt = second(1), second(3) }), on(6)}, "on"},
		"another boot, and not seen off, later":                     {[]Entry{boots(31*minute, "boot-2", 4)}, "on"},
		"another boot from before it was seen off":                  {[]Entry{presumed, boots(1, "boot-2", 0)}, "off, presumed"},
		"another boot, and then off":                                {[]Entry{presumed, boots(5, "boot-2", 4), off(9)}, "off, proven"},
		"another boot of a silent node, presumed off":               {[]Entry{silent, presumed, boots(5, "boot-2", 4)}, "off, presumed"},
		"another boot of a silent node, proven off":                 {[]Entry{silent, done, boots(5, "boot-2", 4)}, "on"},
		"another boot, and the request was sent long after":         {[]Entry{stopped, saw(48, Off, Presumed), boots(50, "boot-2", 4)}, "off, presumed"},
		"another boot of a node with that name":                     {[]Entry{moved(begins("1", 0), "10.0.0.3"), done, moved(boots(5, "boot-2", 4), "10.9.0.3")}, "off, proven"},
		"another boot of another system of that name":               {[]Entry{uuid(begins("1", 0), "a"), done, uuid(boots(5, "boot-2", 4), "b")}, "off, proven"},
		"another boot of a system of that name that hides it":       {[]Entry{uuid(begins("1", 0), "a"), done, boots(31*minute, "boot-2", 4)}, "off, proven"},
		"another boot of a node of a cluster that hides its ID":     {[]Entry{done, with(boots(5, "boot-2", 4), func(e *Entry) { e.Cluster.UID = "" })}, "off, proven"},
	} {
		facts := c.facts
		if !slices.ContainsFunc(facts, func(e Entry) bool { return e.Kind == EntryIntent && e.Op == "1" }) && name != "its outcome, and no intent" {
			facts = slices.Insert(slices.Clone(facts), 0, begins("1", 0))
		}
		if got := state(facts); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got := state(slices.Concat(facts, facts)); got != c.want && name != "nothing was sent" && name != "off, and asked again: nothing was sent" {
			t.Errorf("%s, each fact twice: %s, want %s", name, got, c.want)
		}
	}
}

// Whatever the facts and their order in the journal: a machine is not on while its newest reading after a request
// proves it off, nor off while that is on; it does not go off by a request that can't be carried out.
func FuzzStateOf(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var requests []*request
		var seen []sighting
		for i := range 1 + rnd.IntN(3) {
			e := begins(fmt.Sprint(i), rnd.IntN(40*minute))
			requests = append(requests, &request{Entry: e, arrival: Arrival{Unconfirmed, e.At}, underWay: e.At, carriedOut: CarriedOutWithin})
		}
		last := slices.MaxFunc(requests, (*request).compare)
		for range rnd.IntN(6) {
			s := sighting{at: second(rnd.IntN(60 * minute)), state: []State{On, Off, Unknown}[rnd.IntN(3)], proof: []Proof{Presumed, Proven}[rnd.IntN(2)]}
			if rnd.IntN(4) == 0 {
				s.node = &outage.Now{ID: fmt.Sprint("boot-", rnd.IntN(2)+1)}
			}
			seen = append(seen, s)
		}
		requests[0].seen = seen
		state := stateOf(requests)
		for range 5 {
			rnd.Shuffle(len(requests), func(i, k int) { requests[i], requests[k] = requests[k], requests[i] })
			rnd.Shuffle(len(seen), func(i, k int) { seen[i], seen[k] = seen[k], seen[i] })
			if again := stateOf(requests); again.standing() != state.standing() || !again.mayGoOff().Equal(state.mayGoOff()) {
				t.Fatalf("%s, and in another order %s", state.standing(), again.standing())
			}
		}
		if len(seen) == 0 {
			return
		}
		newest := slices.MaxFunc(seen, func(a, b sighting) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.state, b.state)) })
		reading := newest.node == nil && newest.proof == Proven && newest.at.After(last.arrival.Sent)
		within := !newest.at.After(last.underWay.Add(CarriedOutWithin))
		switch is := state.standing(); {
		case reading && newest.state == Off && within && is != StandsOff:
			t.Errorf("%s, although it was last proven off", is)
		case reading && newest.state == On && is == StandsOff:
			t.Errorf("%s, although it was last proven on", is)
		case reading && newest.state == On && !within && is != StandsOn:
			t.Errorf("%s, although it is on and no request can be carried out any more", is)
		case !newest.at.After(last.arrival.Sent) && is != MayBeOff:
			t.Errorf("%s, although nothing was seen since the request", is)
		}
	})
}

// When a machine was asked to go off does not depend on when its outcome was written, minutes later.
func TestWhenAMachineWasAsked(t *testing.T) {
	t.Parallel()
	intent, outcome := begins("1", 0), with(ends("1", 4*minute, StageUncertain, On, Proven), func(e *Entry) { e.Arrival.Sent = second(3) })
	theirs := NodeNote{Node: "n3", Note: Note{By: "tanaka@jump-7", At: second(2 * minute)}}
	for name, facts := range map[string][]Entry{"no outcome yet": {intent}, "its outcome": {intent, outcome}, "its outcome alone": {outcome}} {
		l := newJournalState(CarriedOutWithin)
		for _, e := range facts {
			l.fold(e)
		}
		state := stateOf(l.machines()[0])
		left := state.left()
		if o := OwnershipOf("n3", []LeftOff{left}, []NodeNote{theirs}); o.Owner != TakenOver {
			t.Errorf("%s: another operator's note after the request: %+v", name, o)
		}
		if got := left.Before.Seen(outage.Now{Ready: second(2 * minute)}); got != outage.CantTell {
			t.Errorf("%s: Ready since after the request: %v, want CantTell", name, got)
		}
		of := outage.Outage{}
		of.Apply(outage.Fact{Kind: outage.Listed, Before: outage.Before{Asked: second(3)}})
		of.Apply(outage.Fact{Kind: outage.Seen, At: second(1 * minute)})
		if of.Apply(outage.Fact{Kind: outage.Listed, Before: left.Before}); of.Step() != outage.StepDown {
			t.Errorf("%s: the same request begins another outage: step %d", name, of.Step())
		}
	}
}

// The journal and the newest reading together say how a machine stands: for the screen, the summaries and restore.
func TestStanding(t *testing.T) {
	t.Parallel()
	on, off, transitioning := Reading{State: On, Proof: Proven}, Reading{State: Off, Proof: Proven}, Reading{State: Transitioning}
	done, presumed := ends("1", 2, StageDone, Off, Proven), ends("1", 2, StageDone, Off, Presumed)
	for name, c := range map[string]struct {
		facts []Entry
		now   Reading
		want  Standing
	}{
		"asked, and on":                         {nil, on, MayGoOff},
		"asked, and on its way":                 {nil, transitioning, MayGoOff},
		"asked, and nobody has polled":          {nil, Reading{}, MayBeOff},
		"asked, and off":                        {nil, off, MayBeOff}, // until the journal has that
		"presumed off, and on":                  {[]Entry{presumed}, on, MayGoOff},
		"presumed off, and nobody has polled":   {[]Entry{presumed}, Reading{}, StandsOff},
		"proven off, and on in an older answer": {[]Entry{done}, on, StandsOff},
		"proven off":                            {[]Entry{done}, off, StandsOff},
		"on again":                              {[]Entry{done, saw(5, On, Proven)}, on, StandsOn},
	} {
		l := newJournalState(CarriedOutWithin)
		for _, e := range append([]Entry{begins("1", 0)}, c.facts...) {
			l.fold(e)
		}
		state := stateOf(l.machines()[0])
		if got := state.left().Standing(c.now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
