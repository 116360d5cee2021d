//go:build linux

package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
)

const (
	lineDelay = 150 * time.Millisecond // each way
	lineRate  = "16kbit"               // 2 KB/s each way
	hostEnd   = "10.78.0.1"
	farEnd    = "10.78.0.2"
)

// needsNamespaces skips a test where nobody has said that this process may make
// namespaces and mount: root on a machine of its own.
func needsNamespaces(t *testing.T) {
	t.Helper()
	if os.Getenv("LIGHTSOUT_NETNS") != "1" {
		t.Skip("needs root and namespaces: set LIGHTSOUT_NETNS=1")
	}
}

// thinLine makes a network namespace that a cable of lineRate joins to this one,
// and dials an address from there; what is read and written is delayed as well. It
// needs iproute2.
func thinLine(t *testing.T) (dial func(address string) net.Conn) {
	t.Helper()
	tag := fmt.Sprint(os.Getpid() % 10000)
	ns, here, there := "lo-thin-"+tag, "loH"+tag, "loT"+tag
	command := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	command("ip", "netns", "add", ns)
	t.Cleanup(func() { command("ip", "netns", "del", ns) })
	command("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", ns)
	command("ip", "addr", "add", hostEnd+"/24", "dev", here)
	command("ip", "link", "set", here, "up")
	command("ip", "-n", ns, "addr", "add", farEnd+"/24", "dev", there)
	command("ip", "-n", ns, "link", "set", there, "up")
	shape := []string{"root", "tbf", "rate", lineRate, "burst", "1600", "limit", "20000"}
	command(append([]string{"tc", "qdisc", "add", "dev", here}, shape...)...)
	command(append([]string{"tc", "-n", ns, "qdisc", "add", "dev", there}, shape...)...)
	return func(address string) net.Conn {
		t.Helper()
		type result struct {
			c   net.Conn
			err error
		}
		dialled := make(chan result, 1)
		go func() {
			runtime.LockOSThread() // the thread, and with it the namespace, ends with the goroutine
			fd, err := unix.Open("/run/netns/"+ns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err == nil {
				defer unix.Close(fd)
				err = unix.Setns(fd, unix.CLONE_NEWNET)
			}
			if err != nil {
				dialled <- result{nil, err}
				return
			}
			c, err := net.Dial("tcp", address)
			dialled <- result{c, err}
		}()
		r := <-dialled
		if r.err != nil {
			t.Fatal(r.err)
		}
		return newDelayed(r.c)
	}
}

// delayed is a connection whose bytes take lineDelay longer, each way.
type delayed struct {
	net.Conn
	in  *io.PipeReader
	out chan parcel
}

type parcel struct {
	due  time.Time
	data []byte
}

func newDelayed(c net.Conn) *delayed {
	r, w := io.Pipe()
	d := &delayed{Conn: c, in: r, out: make(chan parcel, 1000)}
	come := make(chan parcel, 1000)
	go func() {
		defer close(come)
		for {
			buf := make([]byte, 4096)
			n, err := c.Read(buf)
			if n > 0 {
				come <- parcel{time.Now().Add(lineDelay), buf[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		for p := range come {
			time.Sleep(time.Until(p.due))
			_, _ = w.Write(p.data)
		}
		w.CloseWithError(io.EOF)
	}()
	go func() {
		for p := range d.out {
			time.Sleep(time.Until(p.due))
			_, _ = c.Write(p.data)
		}
	}()
	return d
}

func (d *delayed) Read(p []byte) (int, error) { return d.in.Read(p) }

func (d *delayed) Write(p []byte) (int, error) {
	d.out <- parcel{time.Now().Add(lineDelay), slices.Clone(p)}
	return len(p), nil
}

// loginServer is an ssh server on the near end, and how to log in to it.
func loginServer(t *testing.T) (address string, cfg *ssh.ClientConfig) {
	t.Helper()
	b, err := os.ReadFile(newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(b)
	if err != nil {
		t.Fatal(err)
	}
	s := realSSHServer(t, hostEnd, string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	return s.address, &ssh.ClientConfig{User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.InsecureIgnoreHostKey()}
}

// farShell is the program in a shell at the other end of a thin line, on a
// terminal here.
type farShell struct {
	glass
	bytes int // that came; under mu
	keysW io.Writer
}

func openFarShell(t *testing.T, command string) *farShell {
	t.Helper()
	dial := thinLine(t)
	address, cfg := loginServer(t)
	conn, chans, reqs, err := ssh.NewClientConn(dial(address), address, cfg)
	if err != nil {
		t.Fatal(err)
	}
	client := ssh.NewClient(conn, chans, reqs)
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	f := &farShell{glass: glass{t: t, em: vt.NewEmulator(100, 30), ended: make(chan struct{})}}
	// The emulator itself answers this question with a sequence of another name.
	f.em.RegisterCsiHandler('n', func(params ansi.Params) bool {
		if n, _, _ := params.Param(0, 0); n != 5 {
			return false
		}
		_, _ = io.WriteString(f.em.InputPipe(), "\x1b[0n")
		return true
	})
	out, _ := session.StdoutPipe()
	f.keysW, _ = session.StdinPipe()
	if err := session.RequestPty("xterm-256color", 30, 100, ssh.TerminalModes{}); err != nil {
		t.Fatal(err)
	}
	if err := session.Start(command); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 32<<10)
		for {
			n, err := out.Read(buf)
			f.mu.Lock()
			f.bytes += n
			_, _ = f.em.Write(buf[:n])
			f.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	wg.Go(func() { _, _ = io.Copy(f.keysW, f.em) })
	t.Cleanup(func() {
		client.Close()
		_ = f.em.InputPipe().(io.Closer).Close()
		wg.Wait()
	})
	return f
}

func (f *farShell) came() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bytes
}

// press types a key and gives how long it takes until the screen shows another;
// half a redraw shows nothing.
func (f *farShell) press(key string, shows func(string) string) time.Duration {
	f.t.Helper()
	other := func(than string) string {
		f.t.Helper()
		for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
			if now := shows(f.screen()); now != "" && now != than {
				return now
			}
			if time.Since(began) > time.Minute {
				f.t.Fatalf("%q does nothing:\n%s", key, f.screen())
			}
		}
	}
	before, began := other(""), time.Now()
	_, _ = io.WriteString(f.keysW, key)
	other(before)
	return time.Since(began)
}

// quantile of what was measured; it sorts.
func quantile(all []time.Duration, q float64) time.Duration {
	slices.Sort(all)
	if len(all) == 0 {
		return 0
	}
	return all[min(len(all)-1, int(q*float64(len(all))))].Round(time.Millisecond)
}

// idle waits until nothing has come for a second.
func (f *farShell) idle() {
	f.t.Helper()
	came, since := f.came(), time.Now()
	for deadline := since.Add(time.Minute); time.Since(since) < time.Second; time.Sleep(50 * time.Millisecond) {
		if now := f.came(); now != came {
			came, since = now, time.Now()
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("the line does not come to rest:\n%s", f.screen())
		}
	}
}

// TestAThinLine types at the program over a line of 2 KB/s and 300 ms, while a pod
// changes ten times a second: what is shown is the newest the line can carry and
// nothing is queued, and the record has every change. Times are printed.
func TestAThinLine(t *testing.T) {
	needsNamespaces(t)
	l := labtest.Start(t, "mdx")
	s := newScene(t, l, "thin")
	state, pidFile := t.TempDir(), filepath.Join(t.TempDir(), "pid")
	s.api.Do("POST", "/api/v1/namespaces/thin/pods", map[string]any{"metadata": map[string]any{"name": "tick"}, "spec": map[string]any{
		"nodeSelector": map[string]any{"nowhere": "x"}, "containers": []any{map[string]string{"name": "main", "image": "none"}}}}, nil)
	config := l.ConfigWith(func(c map[string]any) { c["namespaces"] = []string{"thin"}; delete(c, "load") })
	f := openFarShell(t, "echo $$ >"+pidFile+"; export HOME="+t.TempDir()+" LC_ALL=C.UTF-8; exec "+
		labtest.Program(t, "lightsout")+" --state "+state+" "+strings.Join(args(l, config), " "))
	f.state = state
	f.sees("the cluster", isLive, `tick\s`, `kube-node4`)
	f.idle() // the first screen has come, with all that was asked at the start
	pid := process(t, pidFile).Pid
	row := regexp.MustCompile(`▌ +kube-\w+`)
	cursor := func(s string) string { return row.FindString(s) }
	type span struct {
		what  string
		churn bool
	}
	ticks, shown := 0, regexp.MustCompile(`R(\d{4})`)
	for _, sp := range []span{{"at rest", false}, {"under 10 changes a second", true}} {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		var mu sync.Mutex
		set := map[int]time.Time{}
		if sp.churn {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(100 * time.Millisecond):
					}
					ticks++
					s.api.Do("PATCH", "/api/v1/namespaces/thin/pods/tick/status", map[string]any{"status": map[string]any{"reason": fmt.Sprintf("R%04d", ticks)}}, nil)
					mu.Lock()
					set[ticks] = time.Now()
					mu.Unlock()
				}
			})
		}
		var ages []time.Duration
		last := 0
		wg.Go(func() { // how old is what is shown?
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				n := 0 // the newest on the screen; the timeline has older ones above it
				for _, m := range shown.FindAllStringSubmatch(f.screen(), -1) {
					r, _ := strconv.Atoi(m[1])
					n = max(n, r)
				}
				if n == 0 {
					continue
				}
				if n < last {
					t.Errorf("R%04d is shown after R%04d", n, last)
				}
				last = n
				mu.Lock()
				if at, later := set[n+1]; later {
					ages = append(ages, time.Since(at))
				}
				mu.Unlock()
			}
		})
		began, came, cpu := time.Now(), f.came(), cpuTime(t, pid)
		var took []time.Duration
		for i := range 30 {
			took = append(took, f.press(string("jk"[i%2]), cursor))
			time.Sleep(200 * time.Millisecond) // a person's pace
		}
		seconds, bytes, used := time.Since(began).Seconds(), float64(f.came()-came), cpuTime(t, pid)-cpu
		close(stop)
		wg.Wait()
		t.Logf("%s: %.0f bytes/s, CPU %.1f %%, key to screen p50 %v p99 %v, shown is old by p50 %v p99 %v", sp.what, bytes/seconds,
			100*used.Seconds()/seconds, quantile(took, 0.5), quantile(took, 0.99), quantile(ages, 0.5), quantile(ages, 0.99))
	}
	// What is shown at last was not behind a queue.
	before := f.came()
	f.sees("the newest", fmt.Sprintf(`R%04d`, ticks))
	if queued := f.came() - before; queued > 6<<10 {
		t.Errorf("%d bytes came before the newest", queued)
	}
	_, _ = io.WriteString(f.keysW, "q")
	for deadline := time.Now().Add(time.Minute); unix.Kill(pid, 0) == nil && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	events := f.read(record.EventsFile)
	for n := 1; n < ticks; n++ {
		if !strings.Contains(events, fmt.Sprintf(`R%04d`, n)) {
			t.Errorf("the record lacks R%04d", n)
			break
		}
	}
	if r := f.checkRecord(); len(r.Torn) > 0 {
		t.Errorf("the record is torn: %q", r.Torn)
	}
}
