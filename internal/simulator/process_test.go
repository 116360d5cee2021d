package simulator

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lightsout/power"
)

// process is one run of lightsout on its host, which can stop, continue and kill it.
// Everything that leaves it goes through gate.
type process struct {
	w    *world
	name string
	host *host
	ctx  context.Context
	end  context.CancelFunc
	gone chan struct{} // closed when the process has ended

	mu      sync.Mutex
	resume  chan struct{} // closed when it continues; nil while it runs
	dead    chan struct{} // closed by kill -9
	stopped time.Duration // how long it has been stopped in total
	since   time.Time     // when it was last stopped
	seen    time.Time     // time of its newest view of the API server
	cut     time.Time     // when its connection to the API server broke; zero while it works
	agreed  []string      // nodes of agreed questions
	said    map[string]bool
	what    string
	atSend  func(node string)                     // runs when the process is about to send a request; may be nil
	asked   map[power.Action]map[string]time.Time // when it last sent a request, by node
}

func newProcess(w *world, name string, h *host) *process {
	p := &process{w: w, name: name, host: h, gone: make(chan struct{}), dead: make(chan struct{})}
	p.ctx, p.end = context.WithCancel(context.Background())
	return p
}

var errKilled = errors.New("killed")

// gate blocks all traffic while the process is stopped, and fails once it is killed.
func (p *process) gate() error {
	for {
		p.mu.Lock()
		resume := p.resume
		p.mu.Unlock()
		if resume != nil {
			select {
			case <-p.dead:
			case <-resume:
				continue
			}
		}
		select {
		case <-p.dead:
			return errKilled
		default:
			return nil
		}
	}
}

// wait waits for the outside world: it returns only while the process runs.
func (p *process) wait(ctx context.Context, d time.Duration) error {
	if err := p.gate(); err != nil {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.dead:
	case <-ctx.Done():
	case <-t.C:
	}
	if err := p.gate(); err != nil {
		return err
	}
	return ctx.Err()
}

func (p *process) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resume == nil && p.alive() {
		p.resume, p.since = make(chan struct{}), time.Now()
		p.w.tell(p.name, "is stopped (SIGSTOP)")
	}
}

func (p *process) goOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resume != nil {
		p.w.tell(p.name, "continues (SIGCONT)")
		close(p.resume)
		p.resume, p.stopped = nil, p.stopped+time.Since(p.since)
	}
}

// running reports whether the process has neither stopped nor ended.
func (p *process) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resume == nil && p.alive()
}

func (p *process) alive() bool {
	select {
	case <-p.dead:
		return false
	case <-p.gone:
		return false
	default:
		return true
	}
}

// stood returns how long the process has been stopped in total.
func (p *process) stood() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resume != nil {
		return p.stopped + time.Since(p.since)
	}
	return p.stopped
}

// kill is kill -9. It returns when every goroutine of the process has ended.
func (p *process) kill() {
	if p.alive() {
		p.w.tell(p.name, "is killed (SIGKILL)")
		close(p.dead)
	}
	p.end()
	<-p.gone
}

// aboutToSend runs atSend after the judgement and before the request.
func (p *process) aboutToSend(node string) {
	p.mu.Lock()
	happens := p.atSend
	p.atSend = nil
	p.mu.Unlock()
	if happens != nil {
		happens(node)
	}
}

// hasAsked records that the process has sent a request for a node.
func (p *process) hasAsked(a power.Action, node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil {
		p.asked = map[power.Action]map[string]time.Time{}
	}
	if p.asked[a] == nil {
		p.asked[a] = map[string]time.Time{}
	}
	p.asked[a][node] = time.Now()
}

// askedAfter reports whether the process has sent a request for a node since a time.
func (p *process) askedAfter(a power.Action, node string, at time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.asked[a][node].Before(at)
}

// host is a machine on which operators run lightsout.
type host struct {
	w     *world
	name  string
	locks string // the shared folder of all accounts

	mu   sync.Mutex
	full error         // the error of every write; nil if there is room
	slow time.Duration // the longest time of a write
}

func (h *host) disk() (slow time.Duration, full error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.slow, h.full
}

func (h *host) set(full error, slow time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.full, h.slow = full, slow
}

// disk is a host's disk as a process sees it; it implements power.Disk.
type disk struct{ p *process }

// Lock waits like flock, but in virtual time.
func (d disk) Lock(f *os.File) error {
	for {
		if err := d.p.gate(); err != nil {
			return err
		}
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		if d.p.wait(context.Background(), 50*time.Millisecond) != nil {
			return errKilled
		}
	}
}

// Write takes time. A process that is killed meanwhile leaves a torn line.
func (d disk) Write(f *os.File, b []byte) (int, error) {
	if err := d.p.gate(); err != nil {
		return 0, err
	}
	slow, full := d.p.host.disk()
	if slow > 0 {
		r := d.p.w.dice("disk " + d.p.name)
		if d.p.wait(context.Background(), between(r, 0, slow)) != nil {
			n, _ := f.Write(b[:r.IntN(len(b))])
			d.p.w.tell(d.p.name, "leaves a line that ends after %d of %d bytes", n, len(b))
			return n, errKilled
		}
		_, full = d.p.host.disk()
	}
	if full != nil {
		if errors.Is(full, syscall.ENOSPC) && len(b) > 1 { // the disk had room for a part of it
			n, _ := f.Write(b[:len(b)/2])
			return n, full
		}
		return 0, full
	}
	return f.Write(b)
}

func (d disk) Sync(*os.File) error { return d.p.gate() }
