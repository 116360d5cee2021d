package e2e

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
)

// TestKilledAtAnyMoment kills trials, power commands and restores at random moments, or
// stops them (SIGSTOP) for 1 to 60 s. Every other time a second operator is at work,
// with a state folder of their own and another kubeconfig of the same cluster, without
// its authority. The restore of one of them names every machine that is off, a worker
// is left, the record of a trial has everything that the screen showed, and both
// restores power everything on. LIGHTSOUT_KILLS=200 runs it so many times, LIGHTSOUT_SEED
// repeats the choices; without a number TestAKilledProgramLeavesNothingForgotten stands for it.
func TestKilledAtAnyMoment(t *testing.T) {
	kills := int(envNumber(t, "LIGHTSOUT_KILLS", 0))
	if kills == 0 {
		t.Skip("this kills programs for minutes; set LIGHTSOUT_KILLS=200")
	}
	seed := envNumber(t, "LIGHTSOUT_SEED", uint64(time.Now().UnixNano()))
	t.Logf("%d kills, LIGHTSOUT_SEED=%d", kills, seed)
	l := labtest.Start(t, "mdx")
	k := &killing{T: t, lab: l, api: l.API(), rnd: rand.New(rand.NewPCG(seed, 1)), plan: write(t, "one.yaml", strings.ReplaceAll(onePlan, "burst: 4}", "burst: 4, timeout: 30s}")), count: map[string]int{}}
	k.kubeconfigs = []string{l.Kubeconfig(), k.withoutAuthority()}
	began := time.Now()
	for i := range kills {
		if k.round(i); t.Failed() {
			t.Fatalf("kill %d of %d, LIGHTSOUT_SEED=%d", i+1, kills, seed)
		}
	}
	t.Logf("%d kills in %s, no machine unaccounted for: %v", kills, time.Since(began).Round(time.Second), k.count)
}

func envNumber(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

var workerNames = []string{"kube-node1", "kube-node2", "kube-node3", "kube-node4"}

// killing is a lab in which programs are killed.
type killing struct {
	*testing.T
	lab   *labtest.Lab
	api   *labtest.API
	rnd   *rand.Rand
	plan  string
	count map[string]int // of what there was, for the end
	// kubeconfigs of the first operator and of the second.
	kubeconfigs []string
}

// withoutAuthority returns the lab's kubeconfig in the form for a tunnel: with another
// server name, and without the cluster's authority.
func (k *killing) withoutAuthority() string {
	cfg, err := clientcmd.LoadFromFile(k.lab.Kubeconfig())
	if err != nil {
		k.Fatal(err)
	}
	for _, c := range cfg.Clusters {
		c.CertificateAuthority, c.CertificateAuthorityData, c.InsecureSkipTLSVerify = "", nil, true
		c.Server = strings.Replace(c.Server, "127.0.0.1", "localhost", 1)
	}
	path := filepath.Join(k.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		k.Fatal(err)
	}
	return path
}

// operator is a person with a state folder and a kubeconfig of their own.
type operator struct{ config, kubeconfig string }

func (k *killing) operator(i int) operator {
	return operator{k.lab.ConfigWith(func(c map[string]any) { c["state"] = k.TempDir() }), k.kubeconfigs[i]}
}

func (k *killing) command(o operator, words ...string) *exec.Cmd {
	return program(context.Background(), k.T, nil, append([]string{"--config", o.config, "--kubeconfig", o.kubeconfig}, words...)...)
}

// killed is a program that the test kills at a random moment, unless it has ended, or
// stops for a while.
type killed struct {
	words []string
	at    time.Duration
	stop  time.Duration // zero: kill it
	died  bool
	dir   string // the trial's record
	lines []string
}

func (x *killed) String() string {
	what := strings.Join(x.words[:2], " ")
	switch {
	case x.stop > 0:
		return fmt.Sprintf("%s: stopped at %s for %s", what, x.at.Round(time.Millisecond), x.stop.Round(time.Second))
	case !x.died:
		return what + ", which had ended"
	}
	return fmt.Sprintf("%s, killed at %s", what, x.at.Round(time.Millisecond))
}

// within draws a moment.
func (k *killing) within(d time.Duration) time.Duration { return time.Duration(k.rnd.Int64N(int64(d))) }

func (k *killing) node() string { return workerNames[k.rnd.IntN(len(workerNames))] }

// pause draws the length of a stop: 1 to 60 s, mostly short.
func (k *killing) pause() time.Duration {
	u := k.rnd.Float64()
	return time.Second + time.Duration(59*u*u*u*float64(time.Second))
}

// choose draws the program to kill or stop.
func (k *killing) choose(kind string) *killed {
	x := k.chooseWords(kind)
	if k.rnd.IntN(2) == 0 {
		x.stop = k.pause()
	}
	return x
}

func (k *killing) chooseWords(kind string) *killed {
	switch kind {
	case "trial":
		dir := filepath.Join(k.TempDir(), "record")
		return &killed{words: []string{"trial", "run", k.plan, "--yes", "--record", dir}, at: k.within(14 * time.Second), dir: dir}
	case "restore":
		return &killed{words: []string{"restore", "--yes"}, at: k.within(3 * time.Second)}
	}
	words := []string{"power", []string{"off", "shutdown", "shutdown", "on"}[k.rnd.IntN(4)], k.node(), k.node(), "--yes"}
	return &killed{words: words, at: k.within(5 * time.Second)}
}

// run runs a program and kills it.
func (k *killing) run(o operator, x *killed) {
	cmd := k.command(o, x.words...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		k.Error(err)
		return
	}
	ended := make(chan struct{})
	var struck sync.WaitGroup
	struck.Go(func() { x.strike(cmd.Process, ended) })
	for sc := bufio.NewScanner(out); sc.Scan(); {
		x.lines = append(x.lines, sc.Text())
	}
	close(ended)
	struck.Wait()
	_ = cmd.Wait()
	x.died = cmd.ProcessState.ExitCode() == -1
}

// strike kills the program at its moment, or stops it and continues it.
func (x *killed) strike(p *os.Process, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-time.After(x.at):
	}
	if x.stop == 0 {
		_ = p.Kill()
		return
	}
	_ = p.Signal(syscall.SIGSTOP)
	time.Sleep(x.stop)
	_ = p.Signal(syscall.SIGCONT)
}

// round kills once, and looks at what is left.
func (k *killing) round(i int) {
	kind := []string{"trial", "power", "restore"}[i%3]
	first, second := k.operator(0), k.operator(1)
	if kind == "restore" { // there must be something to restore
		// It is refused while a node's heartbeats come late, on a busy machine.
		k.wait("machines are switched off", func() bool {
			_, _, code := finish(k.T, k.command(first, "power", "off", k.node(), k.node(), "--yes"))
			return code == 0
		})
	}
	x, two := k.choose(kind), i/3%2 == 1
	var other *killed
	over := make(chan struct{})
	if two {
		other = k.choose([]string{"power", "power", "restore"}[k.rnd.IntN(3)])
		if k.rnd.IntN(2) == 0 {
			other.at = time.Minute // it ends by itself
		}
		go func() { defer close(over); k.run(second, other) }()
	} else {
		close(over)
	}
	k.run(first, x)
	<-over
	if x.dir != "" {
		checkKilled(k.T, x.dir, x.lines)
	}
	k.settle()
	off := k.lab.Machines("off")
	if len(k.lab.Machines("on")) < 2 { // the control plane is one of them
		k.Errorf("no worker is left: off are %v", off)
	}
	named, said := map[string]bool{}, ""
	operators := []operator{first}
	if two {
		operators = append(operators, second)
	}
	for _, o := range operators {
		out, errs, code := finish(k.T, k.command(o, "restore"))
		said += fmt.Sprintf("restore: exit %d\n%s%s", code, out, errs)
		for _, node := range workerNames {
			named[node] = named[node] || strings.Contains(out, "\n  "+node+" ")
		}
	}
	// A power-on that was accepted before the kill may come late.
	k.settle()
	still := k.lab.Machines("off")
	for _, node := range workerNames {
		switch is := slices.Contains(off, node); {
		case is && !named[node] && slices.Contains(still, node):
			k.Errorf("%s is off, and no restore names it; the killed one: %q; then:\n%s", node, x.lines, said)
		case named[node] && !is:
			// It was asked for, perhaps, and is on: it is carried out late.
			k.count["carried out late"]++
			k.lab.Post("/machines/" + node + "/off")
		}
	}
	text := fmt.Sprintf("%d: %s", i+1, x)
	if two {
		text += "; second operator: " + other.String()
		k.count["with a second operator"]++
	}
	k.count[kind]++
	switch {
	case x.died:
		k.count["killed while at work"]++
	case x.stop > 0:
		k.count["stopped and continued"]++
	}
	k.count["machines off"] += len(off)
	k.Logf("%s; off: %v", text, off)
	k.restore(operators)
}

// settle waits until the machines are on or off.
func (k *killing) settle() {
	k.wait("the machines settle", func() bool { return len(k.lab.Machines("stopping", "booting")) == 0 })
}

// restore brings everything back, and waits until the cluster is as it was.
func (k *killing) restore(operators []operator) {
	for i, o := range operators {
		out, errs, code := finish(k.T, k.command(o, "restore", "--yes"))
		for tries := 0; tries < 5 && strings.Contains(errs, "the nodes can't be listed"); tries++ { // the machine is busy
			out, errs, code = finish(k.T, k.command(o, "restore", "--yes"))
		}
		// While the other's machines are off, that is said.
		if last := i == len(operators)-1; code != 0 && last {
			k.Errorf("restore: exit %d\n%s%s", code, out, errs)
		}
	}
	if off := k.lab.Machines("off"); len(off) > 0 {
		k.Errorf("still off after restore: %v", off)
	}
	for _, o := range operators {
		if out, errs, code := finish(k.T, k.command(o, "restore")); code != 0 || !strings.Contains(out, "nothing is off") {
			k.Errorf("after restore: exit %d\n%s%s", code, out, errs)
		}
	}
	k.wait("every node is Ready and without a note", func() bool {
		var nodes struct {
			Items []struct {
				Metadata struct{ Annotations map[string]string }
				Status   struct {
					Conditions []struct{ Type, Status string }
				}
			}
		}
		k.api.Do("GET", "/api/v1/nodes", nil, &nodes)
		for _, n := range nodes.Items {
			ready := false
			for _, c := range n.Status.Conditions {
				ready = ready || c.Type == "Ready" && c.Status == "True"
			}
			if !ready || n.Metadata.Annotations["lightsout.dev/switched-off"] != "" {
				return false
			}
		}
		return true
	})
}

func (k *killing) wait(what string, done func() bool) {
	k.Helper()
	for deadline := time.Now().Add(4 * time.Minute); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			k.Fatalf("waited for 2 minutes until %s", what)
		}
	}
}

// checkKilled checks that a record is readable and holds what was shown.
func checkKilled(t *testing.T, dir string, shown []string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, record.EventsFile)); os.IsNotExist(err) {
		for _, s := range shown {
			if strings.Contains(s, "trial one started") {
				t.Errorf("there is no record, but it was shown: %s", s)
			}
		}
		return // killed before the trial began
	}
	out, errs, code := run(t, nil, "replay", "--plain", dir)
	if code != 0 {
		t.Errorf("replay: exit %d\n%s%s", code, out, errs)
	}
	held := map[string]bool{}
	event := func(line string) string { // without the time: a run prints when it saw the event, a record when it happened
		_, event, _ := strings.Cut(line, " ")
		return event
	}
	for _, s := range strings.Split(out, "\n") {
		held[event(s)] = true
	}
	started := false
	for _, s := range shown {
		started = started || strings.Contains(s, "trial one started")
		if strings.Contains(s, " verdict: ") {
			break // the record ends with the verdict
		}
		if started && strings.Count(s, ":") >= 2 && !strings.Contains(s, "…") && !held[event(s)] && !strings.HasPrefix(s, " ") && s[0] >= '0' && s[0] <= '2' {
			t.Errorf("shown and not in the record: %q", s)
		}
	}
}
