package trial

import (
	"context"
	"time"

	"lightsout/cluster"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// poll checks something that takes time.
type poll = plan.Poll

// failNow is something that fails at once.
func failNow(err error) poll {
	return func(time.Time) (bool, string, error) { return true, "", err }
}

// Session is the part of the session that a trial needs: see session.Controls. Only the
// session's loop calls its methods, except Wake, and the functions passed to it.
type Session interface {
	Wake()
	Async(within time.Duration, work func(context.Context) error, then func(error))
	Publish() *view.Frame
	End()

	Say(ev view.Event)
	Notify(ev view.Event)
	Warn(lane view.Lane, subject, text string)
	Ask(q view.Question, answer func(view.Answer))
	Asking() bool

	Snapshot() *cluster.Snapshot
	Focus() cluster.Key
	SetFocus(cluster.Key)
	Machine(node string) view.MachineView
	LeftOff(node string) bool
	Draining(node string) bool
	// WantKubelets has the kubelets of these nodes asked for their settings.
	WantKubelets(nodes ...string)
	Outlook(nodes []string) []string

	StartLoad(spec loadgen.Spec) (number int, started time.Time, err error)
	AtRest(number int) bool
	Switchable() error
	// CanSwitch returns the reason why the session cannot carry out the action on a
	// node's machine; nil if it can, and while it is still finding the machines.
	CanSwitch(a power.Action, node string) error
	Switch(a view.AskPower, unasked bool, end func(error)) error
	NoDrain() error
	Cordon(nodes []string) poll
	Uncordon(nodes []string) poll
	UncordonOwn() poll
	Drain(nodes []string, within time.Duration, end func(error))
	LeaveDrains()
	Rollout(deployment cluster.Key) poll
}
