package simulator

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"lightsout/cluster"
)

// world is the truth: machines, the objects of the API server, and the program because
// of which each machine is off. It does not use the program's rules.
type world struct {
	seed  uint64
	start time.Time

	mu    sync.Mutex
	dice_ map[string]uint64
	vms   []*vm
	story []string
	wrong []string // violated invariants
	// portalDown: the portal does not answer.
	portalDown bool
	// portalSlow is the longest time of an answer of the portal.
	portalSlow time.Duration
	// saysWhen: the portal's answers contain their sampling time.
	saysWhen bool
	// mayAnnotate: the accounts may annotate nodes.
	mayAnnotate bool
	// serving counts the requests in pods.
	serving sync.WaitGroup
}

// vm is the true state of a machine.
type vm struct {
	name    string
	address string
	cp      bool
	tainted bool
	// oneBoot is the boot ID that the machine keeps, as a container does; empty: it has a new one at
	// each boot.
	oneBoot string
	// life lists the machine's states with their start, the newest last.
	life []span
	// due are shutdowns and reboots that the guest will carry out.
	due []due
	// ours names the program because of which the machine is off, or will be; asked is
	// when that program sent its request.
	ours  string
	asked time.Time
	// onBy is the state folder that last powered it on.
	onBy string
	// unplanned is when it lost power without lightsout; zero if it did not.
	unplanned time.Time
	// slow is how long its guest takes to shut down.
	slow time.Duration
	// annotations are the annotation's values with their start.
	annotations []marked
}

type span struct {
	from  time.Time
	on    bool
	boot  int
	ready time.Time // when its kubelet reports Ready, if it is on
}

type due struct {
	at     time.Time
	reboot bool
	by     string
}

type marked struct {
	at   time.Time
	text string
}

func newWorld(seed uint64, workers int) *world {
	w := &world{seed: seed, start: time.Now(), dice_: map[string]uint64{}, mayAnnotate: true, portalSlow: 2 * time.Second}
	for i := range workers + 1 {
		v := &vm{name: fmt.Sprintf("n%d", i), address: fmt.Sprintf("10.0.0.%d", 10+i), cp: i == 0, slow: 4 * time.Second}
		if v.cp {
			v.name = "cp"
		}
		v.life = []span{{from: w.start.Add(-time.Hour), on: true, boot: 1, ready: w.start.Add(-time.Hour)}}
		w.vms = append(w.vms, v)
	}
	return w
}

// dice returns the random numbers for one decision. They follow from the seed, the
// decider, and the number of its earlier decisions: other deciders do not change them.
func (w *world) dice(who string) *rand.Rand {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.diceLocked(who)
}

func (w *world) diceLocked(who string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(who))
	w.dice_[who]++
	return rand.New(rand.NewPCG(w.seed*0x9E3779B97F4A7C15+h.Sum64(), w.dice_[who]))
}

// between returns a random time from a to b, never the same one twice.
func between(r *rand.Rand, a, b time.Duration) time.Duration {
	return a + time.Duration(r.Int64N(int64(b-a)+1)) + time.Duration(r.Int64N(int64(time.Millisecond)))
}

// chance is true in this percentage of cases.
func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

// tell adds a line to the story.
func (w *world) tell(who, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tellLocked(who, format, args...)
}

func (w *world) tellLocked(who, format string, args ...any) {
	at := time.Since(w.start)
	w.story = append(w.story, fmt.Sprintf("%02d:%06.3f  %-8s %s", int(at.Minutes()), (at%time.Minute).Seconds(), who, fmt.Sprintf(format, args...)))
}

// broken records that an invariant does not hold.
func (w *world) brokenLocked(i invariant, format string, args ...any) {
	text := string(i) + ": " + fmt.Sprintf(format, args...)
	if only := os.Getenv("LIGHTSOUT_INVARIANTS"); (only == "" || strings.Contains(only, string(i))) && len(w.wrong) < 3 {
		w.wrong = append(w.wrong, text)
		w.tellLocked("BROKEN", "%s", text)
	}
}

func (w *world) broken(i invariant, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.brokenLocked(i, format, args...)
}

func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.wrong) > 0
}

func (w *world) vm(name string) *vm {
	for _, v := range w.vms {
		if v.name == name || v.address == name || "vm-"+v.name == name {
			return v
		}
	}
	return nil
}

// workers returns the names of the machines outside the control plane.
func (w *world) workers() (names []string) {
	for _, v := range w.vms {
		if !v.cp {
			names = append(names, v.name)
		}
	}
	return names
}

func (v *vm) now() span { return v.life[len(v.life)-1] }

// at returns the machine's state at a time.
func (v *vm) at(t time.Time) span {
	for i := len(v.life) - 1; i > 0; i-- {
		if !v.life[i].from.After(t) {
			return v.life[i]
		}
	}
	return v.life[0]
}

// settle carries out everything due by now, in order; the caller holds w.mu.
func (w *world) settle() {
	now := time.Now()
	for {
		var next *vm
		at := -1
		for _, v := range w.vms {
			for i, d := range v.due {
				if !d.at.After(now) && (next == nil || d.at.Before(next.due[at].at)) {
					next, at = v, i
				}
			}
		}
		if next == nil {
			return
		}
		d := next.due[at]
		next.due = slices.Delete(next.due, at, at+1)
		switch {
		case !next.now().on:
		case d.reboot: // the guest loses its pending shutdowns and reboots
			next.due = nil
			next.boot(w, d.at)
			next.ours, next.unplanned = "", d.at
		default:
			next.life = append(next.life, span{from: d.at, boot: next.now().boot})
			next.due = nil
		}
	}
}

// boot starts another boot of a machine at a time; the caller holds w.mu.
func (v *vm) boot(w *world, at time.Time) {
	up := between(w.diceLocked("boot "+v.name), 8*time.Second, 40*time.Second)
	v.life = append(v.life, span{from: at, on: true, boot: v.now().boot + 1, ready: at.Add(up)})
}

// powerOn powers a machine on; the caller holds w.mu and has called settle.
func (v *vm) powerOn(w *world, by string) {
	if !v.now().on {
		v.boot(w, time.Now())
		v.ours, v.onBy = "", by[:1]
	}
}

// cut cuts the power of a machine without lightsout; the caller holds w.mu.
func (v *vm) cut() {
	if v.now().on {
		v.life = append(v.life, span{from: time.Now(), boot: v.now().boot})
		v.due, v.unplanned, v.ours = nil, time.Now(), ""
	}
}

const (
	heartbeatEvery = 10 * time.Second
	leaseDuration  = 40 * time.Second
	notReadyAfter  = 40 * time.Second
)

// beat returns the node's last heartbeat up to t.
func (v *vm) beat(t time.Time) time.Time {
	for i := len(v.life) - 1; i >= 0; i-- {
		s := v.life[i]
		if !s.on || s.ready.After(t) {
			continue
		}
		end := t
		if i+1 < len(v.life) && v.life[i+1].from.Before(t) {
			end = v.life[i+1].from
		}
		if end.Before(s.ready) {
			continue
		}
		return s.ready.Add(end.Sub(s.ready) / heartbeatEvery * heartbeatEvery)
	}
	return v.life[0].from
}

// node returns the Node object at a time t, delayed by lag.
func (v *vm) node(t time.Time, lag time.Duration) *cluster.Node {
	beat := v.beat(t)
	n := &cluster.Node{
		Name: v.name, ControlPlane: v.cp, Ready: cluster.TriTrue, Addresses: []string{v.address},
		Renewed: beat, RenewSeen: beat.Add(lag), LeaseDuration: leaseDuration, CPUMilli: 8000, MaxPods: 110,
	}
	if v.cp {
		n.Roles = []string{"control-plane"}
	}
	if v.tainted {
		n.Taints = []cluster.Taint{{Key: "dedicated", Effect: "NoSchedule"}}
	}
	if t.Sub(beat) > notReadyAfter {
		n.Ready, n.ReadySince = cluster.TriUnknown, beat.Add(notReadyAfter)
	}
	n.BootID = cmp.Or(v.oneBoot, fmt.Sprintf("%s-boot-%d", v.name, v.at(beat).boot))
	for i := len(v.annotations) - 1; i >= 0; i-- {
		if !v.annotations[i].at.After(t) {
			if v.annotations[i].text != "" {
				n.Annotations = map[string]string{"lightsout.dev/switched-off": v.annotations[i].text}
			}
			break
		}
	}
	return n
}

func (v *vm) annotation() string {
	if len(v.annotations) == 0 {
		return ""
	}
	return v.annotations[len(v.annotations)-1].text
}
