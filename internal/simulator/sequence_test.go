package simulator

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"lightsout/power"
)

// result is the result of a sequence.
type result struct {
	wrong []string
	story []string
	took  time.Duration // in virtual time
}

// run carries out the sequence of a seed in virtual time.
func run(t *testing.T, root string, seed uint64) (res result) {
	dir := filepath.Join(root, fmt.Sprint(seed))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, home := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(home, filepath.Join(dir, "home"))
	}
	synctest.Test(t, func(t *testing.T) {
		x := newSite(dir, seed)
		x.play()
		if !x.w.failed() {
			x.heal()
		}
		for _, p := range x.alive() {
			p.kill()
		}
		x.w.serving.Wait()
		if x.w.failed() {
			x.tellJournals()
		}
		res = result{x.w.wrong, x.w.story, time.Since(x.w.start)}
	})
	return res
}

// tellJournals adds the journals to the story.
func (x *site) tellJournals() {
	for _, st := range x.states {
		text, _ := os.ReadFile(filepath.Join(st.dir, power.JournalName))
		for line := range strings.Lines(string(text)) {
			x.w.tell("journal "+st.name, "%s", strings.TrimSpace(line))
		}
	}
}

// newSite creates the world of a seed.
func newSite(root string, seed uint64) *site {
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(seed, 2+r.IntN(3))
	x := &site{w: w, root: root, guests: chance(r, 25)}
	host1 := &host{w: w, name: "bastion", locks: filepath.Join(root, "bastion-locks")}
	host2 := &host{w: w, name: "laptop", locks: filepath.Join(root, "laptop-locks")}
	x.hosts = []*host{host1, host2}
	w.mayAnnotate, w.saysWhen = chance(r, 60), chance(r, 50)
	if chance(r, 25) {
		w.vms[len(w.vms)-1].tainted = true
	}
	if chance(r, 30) {
		w.portalSlow = 4800 * time.Millisecond
	}
	for _, v := range w.vms {
		v.oneBoot = []string{"", "", v.name, "host"}[seed%4]
		v.slow = []time.Duration{2 * time.Second, 5 * time.Second, 20 * time.Second, 80 * time.Second, 4 * time.Minute}[r.IntN(5)]
	}
	if x.slots = 10; chance(r, 25) {
		x.slots = 1
	}
	a := power.Cluster{Name: "site", CA: "ca-of-site"}
	x.states = []*stateDir{newStateDir(root, "A", host1, a)}
	if chance(r, 60) && w.mayAnnotate { // otherwise they do not know of each other
		b := newStateDir(root, "B", host1, a)
		if chance(r, 50) { // the same cluster with another kubeconfig
			b.cluster = power.Cluster{Name: "tunnel", CA: "hash-of-url"}
		}
		if chance(r, 20) {
			b.uid = 6 * time.Second // credentials
		}
		if chance(r, 40) {
			b.host = host2
		}
		x.states = append(x.states, b)
	}
	for _, st := range x.states {
		st.restores = way(r.IntN(int(ways)))
	}
	for _, v := range w.vms {
		if v.tainted {
			w.tell("world", "%s is tainted: the scheduler places no pods on it", v.name)
		}
	}
	w.tell("world", "%d workers, annotations %v, ssh switches off %v, %d requests at once, %d operators", len(w.vms)-1, w.mayAnnotate, x.guests, x.slots, len(x.states))
	return x
}

// play is the hostile part: operators work, and everything fails.
func (x *site) play() {
	r := x.w.dice("fate")
	if chance(r, 20) {
		x.trial(x.states[0], r)
	}
	for range 12 + r.IntN(14) {
		x.step(r)
		for wait := between(r, 200*time.Millisecond, 24*time.Second); wait > 0; wait -= 4 * time.Second {
			time.Sleep(min(wait, 4*time.Second))
			x.accounted()
			if x.w.failed() {
				return
			}
		}
	}
}

// step does one thing to the world.
func (x *site) step(r *rand.Rand) {
	w := x.w
	st := x.states[r.IntN(len(x.states))]
	node := w.workers()[r.IntN(len(w.workers()))]
	vm := w.vm(node)
	running := x.alive()
	screens := slices.ContainsFunc(running, func(p *process) bool { return p.what == "screen" && strings.HasPrefix(p.name, st.name) })
	switch k := r.IntN(100); {
	case k < 30 && !screens || len(running) == 0:
		x.screen(st)
	case k < 40:
		x.powerCommand(st, []power.Action{power.ActionShutdown, power.ActionOff, power.ActionOn}[r.IntN(3)], pick(w.workers(), 1+r.IntN(2), r)...)
	case k < 48:
		x.restore(st, way(r.IntN(int(ways))), 60)
	case k < 60:
		x.standStill(running[r.IntN(len(running))], r)
	case k < 67:
		running[r.IntN(len(running))].kill()
	case k < 73:
		p := running[r.IntN(len(running))]
		x.forAWhile(r, time.Minute, p.name+" loses the API server", p.name+" has the API server again", func(broken bool) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.cut = (time.Time{}); broken {
				p.cut = time.Now()
			}
		})
	case k < 77:
		x.forAWhile(r, time.Minute, "the portal is down", "the portal answers again", func(broken bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.portalDown = broken
		})
	case k < 87:
		x.happens(r, vm)
	case k < 91:
		h := st.host
		full, slow := error(syscall.ENOSPC), time.Duration(0)
		switch r.IntN(3) {
		case 0:
			full = syscall.EROFS
		case 1:
			full, slow = nil, 8*time.Second
		}
		x.forAWhile(r, 40*time.Second, fmt.Sprintf("the disk of %s fails (%v, slow by %s)", h.name, full, slow), "the disk of "+h.name+" is well", func(broken bool) {
			if broken {
				h.set(full, slow)
			} else {
				h.set(nil, 0)
			}
		})
	case k < 94:
		x.damage(st, r)
	case k < 97:
		x.stranger(st.host, r)
	default:
		x.trial(st, r)
	}
}

// forAWhile breaks something and repairs it later.
func (x *site) forAWhile(r *rand.Rand, most time.Duration, broken, well string, set func(bool)) {
	d := between(r, time.Second, most)
	x.w.tell("world", "%s", broken)
	set(true)
	time.AfterFunc(d, func() {
		x.w.tell("world", "%s", well)
		set(false)
	})
}

// standStill stops a process for a while, at once or when it is about to send its next
// request; sometimes the other machines lose power meanwhile.
func (x *site) standStill(p *process, r *rand.Rand) {
	if !chance(r, 30) {
		workers := x.w.workers()
		x.stop(p, r, time.Minute, 25, workers[r.IntN(len(workers))])
		return
	}
	later := x.w.dice("stop " + p.name)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.atSend = func(node string) { x.stop(p, later, 90*time.Second, 60, node) }
}

// stop stops a process for a while. In this percentage of cases all workers but keep lose
// power meanwhile.
func (x *site) stop(p *process, r *rand.Rand, most time.Duration, percent int, keep string) {
	p.stop()
	time.AfterFunc(between(r, time.Second, most), p.goOn)
	if !chance(r, percent) {
		return
	}
	after := between(r, 100*time.Millisecond, 3*time.Second)
	time.AfterFunc(after, func() {
		x.w.mu.Lock()
		defer x.w.mu.Unlock()
		x.w.settle()
		for _, n := range x.w.workers() {
			if n != keep && x.w.vm(n).now().on {
				x.w.tellLocked("world", "%s loses its power by itself", n)
				x.w.vm(n).cut()
			}
		}
	})
}

// happens is an event that a machine or a technician causes.
func (x *site) happens(r *rand.Rand, v *vm) {
	w := x.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	switch k := r.IntN(4); {
	case k == 0 && v.now().on:
		w.tellLocked("world", "%s loses its power by itself", v.name)
		v.cut()
	case k < 3 && v.now().on:
		w.tellLocked("world", "%s reboots by itself", v.name)
		v.due = append(v.due, due{at: time.Now(), reboot: true})
		w.settle()
	case !v.now().on:
		w.tellLocked("world", "a technician powers %s on", v.name)
		v.powerOn(w, "technician")
	}
}

// damage spoils a line of a journal.
func (x *site) damage(st *stateDir, r *rand.Rand) {
	path := filepath.Join(st.dir, power.JournalName)
	data, err := os.ReadFile(path)
	lines := strings.SplitAfter(string(data), "\n")
	if err != nil || len(lines) < 2 || x.guests {
		return
	}
	i := r.IntN(len(lines) - 1)
	line := []byte(lines[i])
	if len(line) < 2 {
		return
	}
	for at := r.IntN(len(line) - 1); at < len(line)-1; at += 40 {
		line[at] = '#'
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := f.WriteAt(line, int64(len(strings.Join(lines[:i], "")))); err == nil {
		x.w.tell("world", "line %d of the journal of %s is damaged: %.90s", i+1, st.name, line)
	}
}

// stranger is another account that holds all locks of a host for a while.
func (x *site) stranger(h *host, r *rand.Rand) {
	files, _ := filepath.Glob(filepath.Join(h.locks, "*"))
	var fds []int
	for _, f := range files {
		if strings.HasSuffix(f, ".off") {
			continue
		}
		fd, err := unix.Open(f, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		_ = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		fds = append(fds, fd)
	}
	x.w.tell("world", "another account holds %d locks of %s", len(fds), h.name)
	time.AfterFunc(between(r, 10*time.Second, 5*time.Minute), func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	})
}

// heal repairs everything, ends every program, and restores until every machine that is
// off because of lightsout is on, or until that is clearly impossible.
func (x *site) heal() {
	for _, p := range x.alive() {
		p.kill()
	}
	x.w.tell("world", "everything answers again, and each operator runs restore")
	time.Sleep(6 * time.Minute) // all repairs are done, and strangers are gone
	x.w.mu.Lock()
	x.w.portalDown = false
	x.w.mu.Unlock()
	for range 5 {
		for _, st := range x.states {
			st.host.set(nil, 0)
			a := x.restore(st, st.restores, 100)
			waitFor(t10(), a.p.gone)
			a.p.kill()
		}
		if len(x.off()) == 0 {
			break
		}
		time.Sleep(9 * time.Minute)
	}
	x.accounted()
	if off := x.off(); len(off) > 0 {
		x.w.broken(returned, "after five restores %v are still off because of lightsout", off)
	}
}

// off returns the machines that are off because of lightsout.
func (x *site) off() (names []string) {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	x.w.settle()
	for _, v := range x.w.vms {
		if v.ours != "" && !v.now().on {
			names = append(names, v.name)
		}
	}
	return names
}
