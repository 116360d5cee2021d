package power

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

// do carries out an action on the machines of the given nodes in parallel. It returns
// when each has reached the wanted power state, failed, or passed its deadline. It calls
// report for every step as it happens, never from two goroutines at once; report must
// not block for long. It calls written once, when the journal has every intent that it will
// have; either function may be nil. The error is nil if all succeeded, otherwise an
// *ActionError. Only the Switcher calls do, after it has
// judged; by j, each request that switches off is judged again. Powering on needs no judgement: j is nil.
//
// For each machine, do locks it against other programs. It polls, and sends nothing if
// the machine is in the wanted power state already. It writes the intent to the journal, and
// switches nothing off if that fails. It sends the request, and polls until the machine
// reaches the wanted power state. If a power API represents a machine that another driver
// switches off, the API's reading counts. do repeats a failed power-on until its
// deadline, and sends a request to switch off once, whatever its result. When ctx ends,
// it sends nothing new, and reports operations under way as uncertain.
func (f *Fleet) do(ctx context.Context, a Action, bindings []Binding, j *judgement, report func(Progress), written func()) error {
	var (
		mu           sync.Mutex
		failed       = map[string]string{}
		all, intents sync.WaitGroup
	)
	intents.Add(len(bindings))
	for _, b := range bindings {
		all.Go(func() {
			op := &operation{fleet: f, action: a, binding: b, judgement: j, id: newOp(), written: sync.OnceFunc(intents.Done)}
			defer op.written()
			op.tell = func(p Progress) {
				mu.Lock()
				defer mu.Unlock()
				p.At = time.Now() // in the order of the reports
				if p.Stage == StageFailed || p.Stage == StageUncertain {
					failed[p.Node] = p.Text
				}
				if report != nil {
					report(p)
				}
			}
			op.run(ctx)
		})
	}
	intents.Wait()
	if written != nil {
		written()
	}
	all.Wait()
	if len(failed) > 0 {
		return &ActionError{Action: a, Failed: failed}
	}
	return nil
}

// newOp makes an operation's id, which no other has.
func newOp() string { return rand.Text()[:12] }

// operation is one action on one machine.
type operation struct {
	fleet   *Fleet
	id      string
	action  Action
	binding Binding
	// judgement is that of the whole request; nil if nobody has judged.
	judgement *judgement
	machine   Machine
	tell      func(Progress)
	// written reports that the intent is in the journal, or never will be.
	written func()
	// arrival is that of the last request that may have reached the machine. attempts is how often
	// lightsout sent one, answer the last result.
	arrival  Arrival
	attempts int
	answer   string
	last     Reading
	// again: the machine is to be powered on, maybe once more, when it is seen off: it may still go off by an
	// earlier request, or the last power-on may not have arrived.
	again bool
	// wasOff is when the machine was last proven off; zero if shared.
	wasOff time.Time
	// shared: another program holds the machine's lock. Its request may still be under
	// way, whatever switched the machine off.
	shared bool
}

func (o *operation) say(stage Stage, format string, args ...any) {
	o.tell(Progress{
		Action: o.action, Node: o.binding.Node.Name,
		Stage: stage, Reading: o.last, WasOff: o.wasOff, Text: Clean(fmt.Sprintf(format, args...)),
	})
}

func (o *operation) run(ctx context.Context) {
	m, free, err := o.begin(ctx)
	if err != nil {
		o.say(StageFailed, "%s", err)
		return
	}
	defer free()
	o.machine = m
	if o.alreadyThere(ctx) {
		return
	}
	if ctx.Err() != nil {
		o.say(StageFailed, "stopped before lightsout sent anything")
		return
	}
	unwritten := o.write(o.entry(EntryIntent))
	if unwritten != nil && o.action != ActionOn {
		o.say(StageFailed, "nothing was sent: %s", unwritten)
		return
	}
	o.written()
	stage, text := o.carryOut(ctx)
	out := o.entry(EntryOutcome)
	out.Stage, out.State, out.Proof, out.Text = stage, o.last.State.String(), o.last.Proof.String(), Clean(text)
	out.Arrival = Arrival{o.arrival.Fate, o.arrival.Sent.UTC()}
	out.RequestedAt = o.last.RequestedAt.UTC()
	if err := o.write(out); err != nil {
		text += " (the journal may lack its outcome: " + Clean(err.Error()) + ")"
	}
	o.say(stage, "%s", text)
}

// write appends e to the journal, and reports a long wait for its disk.
func (o *operation) write(e Entry) error {
	defer o.slowly("lightsout waits for the disk of the journal, or for another program that writes to it")()
	if o.action == ActionOn {
		return o.fleet.journal.appendSoon(e)
	}
	return o.fleet.journal.append(e)
}

// begin returns the machine that will receive the request, and reserves it for this
// operation: among this program's operations, and among the programs on this host.
func (o *operation) begin(ctx context.Context) (m Machine, free func(), err error) {
	f, name := o.fleet, o.binding.Node.Name
	if m, err = f.Can(o.binding, o.action); err != nil {
		return m, nil, err
	}
	if f.cfg.ReadOnly || f.cfg.DryRun {
		return m, nil, errors.New("lightsout switches nothing in read-only mode, or in a dry run")
	}
	o.machine = m
	claim, err := o.claim(ctx, name, m)
	if err != nil {
		return m, nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err := f.cfg.Locks.take(waiting, machineLock(f.cluster(), m))
	switch {
	case err == nil:
		return m, func() { unlock(); claim() }, nil
	case o.action == ActionOn && ctx.Err() == nil: // no lock delays powering on
		o.shared = true
		o.say(StageWaiting, "continuing without the lock of %s: %s", m.Called(), err)
		return m, claim, nil
	}
	claim()
	return m, nil, fmt.Errorf("nothing was sent to %s: %w", m.Called(), err)
}

// claim reserves a machine for one operation of this program. Powering on waits until
// another operation on it has ended.
func (o *operation) claim(ctx context.Context, node string, m Machine) (done func(), err error) {
	if done, err = o.fleet.claim(node, m, o.action); err == nil || o.action != ActionOn {
		return done, err
	}
	o.say(StageDeferred, "waiting to power on %s: %s", m.Called(), err)
	for err != nil {
		if !Sleep(ctx, claimPause) {
			return nil, fmt.Errorf("nothing was sent to %s: %w", m.Called(), err)
		}
		done, err = o.fleet.claim(node, m, o.action)
	}
	return done, nil
}

const (
	// lockWait is how long an operation waits for a machine's lock: longer than a
	// program that only checks the lock holds it.
	lockWait = 2 * time.Second
	// claimPause is the pause between two attempts to claim a busy machine.
	claimPause = 200 * time.Millisecond
)

func (o *operation) entry(kind EntryKind) Entry {
	return Entry{Kind: kind, Op: o.id, Action: o.action, Node: o.binding.Node.Name, Binding: o.binding, Heard: o.binding.Heard.UTC(), WasOff: o.wasOff.UTC()}
}

// seenOn returns the evidence of a reading of the machine to power on, as one that proves it on.
func (o *operation) seenOn(r Reading) Seen {
	r.State, r.Proof = On, Proven
	seen, _ := o.fleet.Evidence(o.binding, r)
	seen.WasOff = o.wasOff
	return seen
}

// alreadyThere polls before anything is sent. A machine to power on that may still go off by an earlier request is
// not there yet: see again.
func (o *operation) alreadyThere(ctx context.Context) bool {
	r, err := o.poll(ctx)
	if err != nil {
		return false
	}
	_, may := o.mayUndo(r)
	o.again = may && (o.wanted(r) || r.State == Transitioning)
	if !o.wanted(r) || o.again {
		return false
	}
	o.last = r
	text := fmt.Sprintf("%s is already %s (%s)", o.machine.Called(), r.State, r.Detail)
	if o.action == ActionOn {
		seen := o.seenOn(r)
		seen.Text = text
		if _, err := o.fleet.journal.Saw(seen); err != nil {
			text += " (lightsout could not write that to the journal: " + err.Error() + ")"
		}
	}
	o.say(StageDone, "%s", text)
	return true
}

// mayUndo reports whether an earlier request may still switch off a machine to power on, and until when;
// until is zero if it has gone off since.
func (o *operation) mayUndo(r Reading) (until time.Time, may bool) {
	if o.action != ActionOn {
		return time.Time{}, false
	}
	return o.fleet.journal.mayUndo(o.seenOn(r))
}

// wanted reports whether a reading is the action's power state. Off may be presumed; On
// must be proven.
func (o *operation) wanted(r Reading) bool {
	if o.action == ActionOn {
		return r.Proves(On)
	}
	return r.State == Off && r.Proof >= Presumed
}
