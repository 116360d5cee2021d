package simulator

import (
	"math/rand/v2"
	"time"

	"lightsout/power"
)

// director lets things happen in a plant.
type director struct {
	*plant
	w *watch
	r *rand.Rand
	// cordoned is when a machine was cordoned last.
	cordoned time.Time
}

func (d *director) tell(format string, args ...any) { d.w.tell("world: "+format, args...) }

// sleep lets a random time pass.
func (d *director) sleep(a, b time.Duration) { time.Sleep(between(d.r, a, b)) }

// some returns so many different machines.
func (d *director) some(n int) (out []*machine) {
	for _, i := range d.r.Perm(len(d.nodes))[:n] {
		out = append(out, d.nodes[i])
	}
	return out
}

// An outageKind causes an outage and undoes it. It returns the nodes that failed, and
// words of the sentence about it.
type outageKind struct {
	name string
	run  func(d *director) (nodes []*machine, words []string)
}

const (
	apiWord     = "API server gave lightsout no answer"
	clientsWord = "equests"
)

var outageKinds = []outageKind{
	{"plug", func(d *director) ([]*machine, []string) { return d.plug(d.some(1), 40*time.Second, 8*time.Minute), nil }},
	{"reboot", func(d *director) ([]*machine, []string) { return d.plug(d.some(1), time.Second, 10*time.Second), nil }},
	{"two at once", func(d *director) ([]*machine, []string) { return d.plug(d.some(2), 40*time.Second, 8*time.Minute), nil }},
	{"all at once", func(d *director) ([]*machine, []string) { return d.plug(d.some(4), 40*time.Second, 8*time.Minute), nil }},
	{"kubelet silent", func(d *director) ([]*machine, []string) {
		return d.broken(d.some(1)[0], func(m *machine, b bool) { m.kubelet = !b }), nil
	}},
	{"network cut", func(d *director) ([]*machine, []string) {
		return d.broken(d.some(1)[0], func(m *machine, b bool) { m.linked = !b }), nil
	}},
	{"flapping", func(d *director) ([]*machine, []string) {
		m := d.some(1)
		for range 2 + d.r.IntN(3) {
			d.plug(m, 30*time.Second, 2*time.Minute)
			d.sleep(time.Minute, 3*time.Minute)
		}
		return m, nil
	}},
	{"API server killed", func(d *director) ([]*machine, []string) { return nil, d.api_(killed, 8*time.Second, 4*time.Minute) }},
	{"API server stopped", func(d *director) ([]*machine, []string) { return nil, d.api_(frozen, 12*time.Second, 4*time.Minute) }},
	{"etcd gone", func(d *director) ([]*machine, []string) { return nil, d.api_(unready, 12*time.Second, 4*time.Minute) }},
	{"pods crash", func(d *director) ([]*machine, []string) {
		d.change(func() { d.app(probedApp).crashing = true })
		d.sleep(15*time.Second, 5*time.Minute)
		d.change(func() { d.app(probedApp).crashing = false })
		return nil, []string{clientsWord}
	}},
	{"another service down", func(d *director) ([]*machine, []string) {
		d.change(func() { d.app("db").crashing = true })
		d.sleep(20*time.Second, 5*time.Minute)
		d.change(func() { d.app("db").crashing = false })
		return nil, []string{"default/db"}
	}},
	{"entry gone", func(d *director) ([]*machine, []string) {
		d.change(func() { d.entryDown = true })
		d.sleep(15*time.Second, 5*time.Minute)
		d.change(func() { d.entryDown = false })
		return nil, []string{clientsWord}
	}},
	{"no room", func(d *director) ([]*machine, []string) {
		d.change(func() { d.app("batch").replicas += 30 })
		d.sleep(time.Minute, 5*time.Minute)
		d.change(func() { d.app("batch").replicas -= 30 })
		return nil, []string{"pods"}
	}},
	{"plug in a rollout", func(d *director) ([]*machine, []string) {
		d.change(func() {
			for _, a := range d.apps {
				a.revision++
			}
		})
		return d.plug(d.some(1), 40*time.Second, 8*time.Minute), nil
	}},
	{"plug while the API server is gone", func(d *director) ([]*machine, []string) {
		m := d.some(1)
		d.api.set(killed)
		d.sleep(10*time.Second, 20*time.Second)
		d.change(m[0].off)
		d.sleep(10*time.Second, 30*time.Second)
		d.api.set(serving)
		d.sleep(time.Minute, 5*time.Minute)
		d.change(func() { d.on(m[0], 20*time.Second) })
		return m, []string{apiWord}
	}},
	{"API server gone in a plug", func(d *director) ([]*machine, []string) {
		m := d.some(1)
		d.change(m[0].off)
		d.sleep(30*time.Second, 3*time.Minute)
		d.api_(killed, 10*time.Second, time.Minute)
		d.sleep(30*time.Second, 2*time.Minute)
		d.change(func() { d.on(m[0], 20*time.Second) })
		return m, nil
	}},
	{"one after the other", func(d *director) ([]*machine, []string) {
		all := d.some(3)
		for _, m := range all {
			d.change(m.off)
			d.sleep(25*time.Second, 2*time.Minute)
		}
		for _, m := range all {
			d.change(func() { d.on(m, 20*time.Second) })
			d.sleep(5*time.Second, time.Minute)
		}
		return all, nil
	}},
	{"deleted while it is off", func(d *director) ([]*machine, []string) {
		m := d.some(1)
		d.change(m[0].off)
		d.sleep(time.Minute, 3*time.Minute)
		d.change(func() { m[0].gone = true; d.api.remove("nodes", m[0].object()) })
		d.sleep(30*time.Second, 3*time.Minute)
		d.change(func() { m[0].gone = false; d.on(m[0], 20*time.Second); d.putNode(m[0]) })
		return m, nil
	}},
	{"plug while cordoned", func(d *director) ([]*machine, []string) {
		m := d.some(2)
		d.change(func() { m[0].cordoned = true; d.putNode(m[0]) })
		d.plug(m[1:], 40*time.Second, 5*time.Minute)
		d.change(func() { d.cordoned, m[0].cordoned = time.Now(), false; d.putNode(m[0]) })
		return m[1:], nil
	}},
	{"longer than a record", func(d *director) ([]*machine, []string) {
		return d.plug(d.some(1), 75*time.Minute, 90*time.Minute), nil
	}},
}

func (d *director) app(name string) *app {
	for _, a := range d.apps {
		if a.name == name {
			return a
		}
	}
	return nil
}

// plug cuts the power of machines for a while.
func (d *director) plug(all []*machine, least, most time.Duration) []*machine {
	d.change(func() {
		for _, m := range all {
			m.off()
		}
	})
	d.sleep(least, most)
	d.change(func() {
		for _, m := range all {
			d.on(m, between(d.r, 15*time.Second, 45*time.Second))
		}
	})
	return all
}

// broken breaks something of a machine for a while, and lets it run on.
func (d *director) broken(m *machine, set func(*machine, bool)) []*machine {
	d.change(func() { set(m, true) })
	d.sleep(35*time.Second, 8*time.Minute)
	d.change(func() { set(m, false); m.beat = time.Now() })
	return []*machine{m}
}

// api_ takes the API server away for a while.
func (d *director) api_(h health, least, most time.Duration) []string {
	d.api.set(h)
	d.sleep(least, most)
	d.api.set(serving)
	return []string{apiWord}
}

// outages lets n outages happen within a time, and calls quarter after the first ones.
func (d *director) outages(within time.Duration, n int, quarter func()) (out []truth) {
	begun := time.Now()
	var order []int
	for i := range n {
		if i == n/4 {
			quarter()
		}
		for time.Until(begun.Add(within*time.Duration(i)/time.Duration(n))) > 3*time.Minute {
			if d.sleep(time.Minute, 2*time.Minute); chance(d.r, 50) {
				d.quietly()
			}
		}
		if len(order) == 0 {
			order = d.r.Perm(len(outageKinds))
		}
		kind := outageKinds[order[0]]
		order = order[1:]
		// A cordon explains pods without a node for a while, as the how-to has it.
		if kind.name == "longer than a record" && (i > n/2 || n < 20) || kind.name == "no room" && time.Since(d.cordoned) < 16*time.Minute {
			kind = outageKinds[0]
		}
		o := truth{kind: kind.name, from: time.Now()}
		d.tell("outage %d: %s", i+1, kind.name)
		nodes, words := kind.run(d)
		d.tell("outage %d: repaired", i+1)
		for _, m := range nodes {
			o.nodes, o.words = append(o.nodes, m.name), append(o.words, m.name)
		}
		o.words = append(o.words, words...)
		for !d.well() {
			time.Sleep(time.Second)
		}
		o.to = time.Now()
		d.tell("outage %d: well, %s", i+1, o)
		out = append(out, o)
		if chance(d.r, 85) {
			d.sleep(recording.Steady+time.Minute, recording.Steady+3*time.Minute)
		} else { // the next one may be in the same record
			d.sleep(30*time.Second, recording.Steady)
		}
	}
	time.Sleep(recording.Steady + 2*time.Minute)
	return out
}

// quietly does something that is no outage, and returns its name.
func (d *director) quietly() string {
	k := quietKinds[d.r.IntN(len(quietKinds))]
	d.tell("%s", k.name)
	k.run(d)
	for !d.well() {
		time.Sleep(time.Second)
	}
	d.tell("%s is over", k.name)
	d.sleep(10*time.Second, 3*time.Minute)
	return k.name
}

var quietKinds = []struct {
	name string
	run  func(d *director)
}{
	{"rollout", func(d *director) {
		d.change(func() { d.apps[d.r.IntN(len(d.apps))].revision++ })
		d.sleep(30*time.Second, 2*time.Minute)
	}},
	{"two rollouts", func(d *director) {
		d.change(func() { d.apps[0].revision++; d.apps[1].revision++ })
		d.sleep(5*time.Second, 20*time.Second)
		d.change(func() { d.apps[0].revision++ })
		d.sleep(30*time.Second, 2*time.Minute)
	}},
	{"cordon and drain", func(d *director) { d.drain(func(*machine) {}) }},
	{"drain and reboot", func(d *director) {
		d.drain(func(m *machine) { d.plug([]*machine{m}, time.Second, 5*time.Minute); time.Sleep(time.Minute) })
	}},
	{"planned", func(d *director) {
		d.planned(d.some(1), func(m []*machine) { d.plug(m, 40*time.Second, 8*time.Minute) })
	}},
	{"two planned", func(d *director) {
		d.planned(d.some(2), func(m []*machine) { d.plug(m, 40*time.Second, 8*time.Minute) })
	}},
	{"planned, and back at once", func(d *director) {
		d.planned(d.some(1), func(m []*machine) { d.plug(m, 5*time.Second, 20*time.Second) })
	}},
	{"scaled up and down", func(d *director) {
		a := d.apps[d.r.IntN(len(d.apps))]
		d.change(func() { a.replicas += 6 })
		d.sleep(time.Minute, 3*time.Minute)
		d.change(func() { a.replicas -= 6 })
		d.sleep(30*time.Second, time.Minute)
	}},
	{"scaled to 0", func(d *director) {
		a := d.app("queue")
		d.change(func() { a.replicas = 0 })
		d.sleep(time.Minute, 5*time.Minute)
		d.change(func() { a.replicas = 10 })
		d.sleep(30*time.Second, time.Minute)
	}},
	{"late heartbeats", func(d *director) {
		for range 6 {
			d.change(func() { d.nodes[d.r.IntN(len(d.nodes))].late = between(d.r, time.Second, 4*time.Second) })
			d.sleep(5*time.Second, 20*time.Second)
		}
	}},
	{"watches reconnect", func(d *director) {
		for range 4 {
			d.api.drop()
			d.sleep(time.Second, 30*time.Second)
		}
	}},
	{"the API server restarts quickly", func(d *director) {
		d.api.set(killed)
		d.sleep(300*time.Millisecond, 1200*time.Millisecond)
		d.api.set(serving)
		d.sleep(30*time.Second, time.Minute)
	}},
	{"a node is replaced", func(d *director) {
		d.drain(func(m *machine) {
			d.change(func() { m.gone = true; d.api.remove("nodes", m.object()) })
			d.sleep(time.Minute, 3*time.Minute)
			d.change(func() {
				m.gone, m.boot, m.cordoned = false, m.boot+1, false
				d.putNode(m)
				m.beat = time.Now()
			})
		})
	}},
	{"a request is lost", func(d *director) {
		d.change(func() { d.entryDown = true })
		d.sleep(100*time.Millisecond, 900*time.Millisecond)
		d.change(func() { d.entryDown = false })
		time.Sleep(time.Minute)
	}},
}

// drain cordons a machine and moves its pods away before what is done to it.
func (d *director) drain(then func(*machine)) {
	m := d.some(1)[0]
	cordon := func(on bool) { d.change(func() { d.cordoned, m.cordoned = time.Now(), on; d.putNode(m) }) }
	cordon(true)
	for {
		d.sleep(2*time.Second, 4*time.Second)
		var next *pod
		d.change(func() {
			for _, q := range d.pods {
				if q.node == m && q.deleting.IsZero() {
					next = q
				}
			}
			if next != nil && d.spare(next.app) { // as a disruption budget has it
				d.deletePod(next, time.Now())
			}
		})
		if next == nil {
			break
		}
	}
	then(m)
	cordon(false)
}

// spare reports whether all pods of an app are ready.
func (p *plant) spare(a *app) bool {
	ready := 0
	for _, q := range p.pods {
		if q.app == a && q.ready {
			ready++
		}
	}
	return ready >= a.replicas
}

// planned switches machines off as lightsout does: the notes come first, and go when the
// nodes are Ready again.
func (d *director) planned(all []*machine, off func([]*machine)) {
	for _, m := range all {
		d.change(func() {
			m.note = power.Note{By: "ops@bastion", At: time.Now(), Back: "restore"}.Text()
			d.putNode(m)
		})
	}
	d.sleep(300*time.Millisecond, 3*time.Second)
	off(all)
	for i := 0; !d.well() && i < 3600; i++ {
		time.Sleep(time.Second)
	}
	for _, m := range all {
		d.change(func() { m.note = ""; d.putNode(m) })
	}
	time.Sleep(time.Minute)
}
