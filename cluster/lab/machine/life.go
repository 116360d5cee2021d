package machine

import (
	"context"
	"sync"
	"time"

	"lightsout/cluster/lab/workload"
)

// life is a machine from one power-on to the next loss of power. Everything
// that runs on it is a goroutine of work, and ends with power.
type life struct {
	m       *Machine
	power   context.Context // ends when power does
	cancel  context.CancelFunc
	kubelet context.Context // ends when the kubelet is stopped
	stop    context.CancelFunc
	work    sync.WaitGroup // the kubelet's goroutines

	mu        sync.Mutex
	processes map[workload.Process]struct{}
}

func newLife(m *Machine) *life {
	l := &life{m: m, processes: map[workload.Process]struct{}{}}
	l.power, l.cancel = context.WithCancel(context.Background())
	l.kubelet, l.stop = context.WithCancel(l.power)
	return l
}

// run boots and then runs the kubelet until power ends.
func (l *life) run(delay time.Duration) {
	m := l.m
	if !workload.Pause(l.power, delay) || !m.booted(l) {
		return
	}
	if m.cfg.Boot != nil {
		if err := m.cfg.Boot(l.power, m); err != nil {
			m.log.Error("a service did not start", "err", err)
		}
	}
	k, err := newKubelet(l)
	if err != nil {
		m.log.Error("the kubelet can't start", "err", err)
	} else {
		l.work.Go(func() { k.run(l.kubelet) })
	}
	m.running(l)
	<-l.power.Done()
}

// end waits for everything that ran, and lets go of it.
func (l *life) end() {
	l.cancel()
	l.work.Wait()
	l.killContainers()
}

// killContainers ends all containers at once.
func (l *life) killContainers() {
	l.mu.Lock()
	var all workload.Group
	for p := range l.processes {
		all = append(all, p)
	}
	clear(l.processes)
	l.mu.Unlock()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	all.Stop(now)
}

// started notes a process that must not outlive the machine.
func (l *life) started(p workload.Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.processes[p] = struct{}{}
}

// stopped forgets it.
func (l *life) stopped(p workload.Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.processes, p)
}
