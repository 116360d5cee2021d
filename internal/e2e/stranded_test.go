package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

// stranded is a machine that was switched off by a program that is gone: all
// that is left is its journal, and the operator's own commands. There is no
// cluster.
type stranded struct {
	t                      *testing.T
	dir, machine, settings string
	// id is the machine's with its driver: machines are locked host-wide, and so
	// each test has one of its own.
	id string
}

func newStranded(t *testing.T) *stranded {
	t.Helper()
	dir := t.TempDir()
	s := &stranded{t: t, dir: dir, machine: filepath.Join(dir, "machine"), settings: filepath.Join(dir, "lightsout.yaml"), id: "n3-" + rand.Text()}
	s.write(s.machine, "off\n")
	config := map[string]any{
		"state": filepath.Join(dir, "state"),
		"power": map[string]any{
			"off_by": "exec", "on_by": "exec",
			"exec": map[string]any{
				"state_command": []string{"cat", s.machine}, "proves_off": true,
				"on_command": []string{"sh", "-c", "echo on > " + s.machine}, "off_command": []string{"sh", "-c", "echo off > " + s.machine},
			},
		},
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	s.write(s.settings, string(text))
	machine := map[string]any{"driver": "exec", "id": s.id, "name": "n3"}
	at := time.Now().Add(-time.Hour).UTC()
	binding := map[string]any{"node": map[string]any{"name": "n3", "bootID": "boot-1"}, "off": machine, "on": machine}
	for _, e := range []map[string]any{
		{"kind": "intent", "op": "0123456789ab", "action": "off", "binding": binding},
		{"kind": "outcome", "op": "0123456789ab", "action": "off", "binding": binding, "phase": "done", "state": "off", "proof": "proven", "arrival": map[string]any{"fate": "accepted", "sent": at}},
	} {
		e["cluster"], e["config"], e["at"], e["pid"], e["node"] = map[string]any{"name": "kubernetes-admin@kubernetes"}, s.settings, at, 1, "n3"
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		s.journal(testenv.JournalLine(line))
	}
	return s
}

func (s *stranded) write(path, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// journal adds a line to the journal.
func (s *stranded) journal(line string) {
	s.t.Helper()
	path := filepath.Join(s.dir, "state", "power.jsonl")
	had, _ := os.ReadFile(path)
	s.write(path, string(had)+line)
}

func (s *stranded) isOn() bool {
	s.t.Helper()
	b, err := os.ReadFile(s.machine)
	return err == nil && strings.TrimSpace(string(b)) == "on"
}

func (s *stranded) restore(args ...string) (out, errs string, code int) {
	return run(s.t, nil, append([]string{"restore", "--yes", "--config", s.settings}, args...)...)
}

func TestRestoreNeedsTheJournalAndTheDriversOnly(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *stranded) []string{
		"no kubeconfig": func(*stranded) []string { return nil },
		"its context":   func(*stranded) []string { return []string{"--context", "kubernetes-admin@kubernetes"} },
		"a folder that can't be written": func(s *stranded) []string {
			path := filepath.Join(s.dir, "state")
			if err := os.Chmod(path, 0o500); err != nil {
				s.t.Fatal(err)
			}
			s.t.Cleanup(func() { _ = os.Chmod(path, 0o700) })
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStranded(t)
			out, errs, _ := s.restore(change(s)...)
			if !s.isOn() || !strings.Contains(out, "n3") {
				t.Errorf("the machine is not on:\n%s%s", out, errs)
			}
		})
	}
}

// A machine that another program of the account switches off between the question and
// its answer was not in the question, and stays off.
func TestRestorePowersOnOnlyMachinesInItsQuestion(t *testing.T) {
	t.Parallel()
	s := newStranded(t)
	x := openTerminal(t, 160, 50, []string{"HOME=" + t.TempDir()}, fmt.Sprintf("%s restore --config %s; echo ended with $?; sleep 1000", labtest.Program(t, "lightsout"), s.settings))
	x.waitFor("the question", time.Minute, `power on n3\? `)
	machine := map[string]any{"driver": "exec", "id": s.id + "-2", "name": "n2"}
	line, err := json.Marshal(map[string]any{
		"kind": "intent", "op": "ba9876543210", "action": "off", "cluster": map[string]any{"name": "kubernetes-admin@kubernetes"}, "config": s.settings, "at": time.Now().UTC(),
		"pid": 2, "node": "n2", "binding": map[string]any{"node": map[string]any{"name": "n2"}, "off": machine, "on": machine},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.journal(testenv.JournalLine(line))
	x.tmux("send-keys", "-l", "y")
	x.keys("Enter")
	screen := x.waitFor("the end", time.Minute, `off by the journal: n2`, `ended with 1`)
	if !s.isOn() || regexp.MustCompile(`(?m)^n2  `).MatchString(screen) {
		t.Errorf("on: %v\n%s", s.isOn(), screen)
	}
}

// With --dry-run as without, the exit status is 0 only when nothing is off.
func TestADryRestoreFailsWhileSomethingIsOff(t *testing.T) {
	t.Parallel()
	s := newStranded(t)
	out, errs, code := s.restore("--dry-run")
	if code != 1 || s.isOn() || !strings.Contains(out, "  n3  off") || !strings.Contains(errs, "dry run: nothing was changed") {
		t.Errorf("exit %d, on: %v\n%s%s", code, s.isOn(), out, errs)
	}
	s.write(s.machine, "on\n")
	if out, errs, code = s.restore("--dry-run"); code != 0 {
		t.Errorf("exit %d with nothing off\n%s%s", code, out, errs)
	}
}

// The exit status tells that all is back, and a second time finds nothing off.
func TestRestoreSettlesWhatItBroughtBack(t *testing.T) {
	t.Parallel()
	s := newStranded(t)
	if out, errs, code := s.restore(); code != 0 || !s.isOn() {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	if out, errs, code := s.restore(); code != 0 || !strings.Contains(out, "nothing is off") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// What can't be seen is not nothing: where there is a way to the API server and it
// does not answer, the notes of others may say anything.
func TestNotesThatCanNotBeSeenAreNotNone(t *testing.T) {
	t.Parallel()
	const kubeconfig = "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\nusers: [{name: u}]\n"
	for name, c := range map[string]struct {
		kubeconfig string
		code       int
	}{
		"it does not answer":    {kubeconfig, 1},
		"there is no way to it": {"", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			words := []string{"restore", "--dry-run", "--state", t.TempDir()}
			if c.kubeconfig != "" {
				words = append(words, "--kubeconfig", write(t, "kubeconfig", c.kubeconfig))
			}
			out, errs, code := run(t, nil, words...)
			if code != c.code || !strings.Contains(out, "nothing is off in the journal") || !strings.Contains(out+errs, "cannot read the annotations on the nodes of cluster") {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
		})
	}
}

// A file that the operator chose and that is not there, or is something else, leads nowhere:
// restore refuses, whatever the file was to lead to.
func TestRestoreRefusesAFileThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := newStranded(t)
	folder, gone, dangling := t.TempDir(), filepath.Join(s.dir, "gone"), filepath.Join(s.dir, "dangling")
	if err := os.Symlink(gone, dangling); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, gone, dangling} {
		named := write(t, "lightsout.yaml", fmt.Sprintf("kubeconfig: %q\n", path))
		rows := [][]string{{"--config", path}, {"--kubeconfig", path}, {"--config", named}, {"KUBECONFIG=" + path}, {"lightsout.yaml"}}
		if path != folder {
			rows = append(rows, []string{"--state", path})
		}
		for _, words := range rows {
			var env []string
			if strings.HasPrefix(words[0], "KUBECONFIG") {
				env, words = words, nil
			}
			for _, how := range []string{"--yes", "--dry-run"} {
				cmd := program(context.Background(), t, env, append([]string{"restore", how}, words...)...)
				if len(words) == 1 { // in the current folder
					cmd.Args = cmd.Args[:3]
					if err := os.Symlink(path, filepath.Join(cmd.Dir, words[0])); err != nil {
						t.Fatal(err)
					}
				}
				out, errs, code := finish(t, cmd)
				want := 1
				if words != nil && words[len(words)-1] != named && words[0] != "--kubeconfig" && words[0] != "--state" {
					want = exitUsage
				}
				if code != want || !strings.Contains(errs, "lightsout: ") || strings.Contains(out, "nothing is off:") || strings.Contains(errs, "no kubeconfig") && env == nil {
					t.Errorf("%s %v %v: exit %d\n%s%s", how, env, words, code, out, errs)
				}
			}
		}
	}
}

// Nobody reads what restore says: it is done all the same.
func TestAClosedOutputEndsNothing(t *testing.T) {
	t.Parallel()
	s := newStranded(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	cmd := program(context.Background(), t, nil, "restore", "--yes", "--config", s.settings)
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &errs
	err = cmd.Run()
	w.Close()
	if err != nil || !s.isOn() {
		t.Errorf("%v, on: %v\n%s", err, s.isOn(), errs.String())
	}
}

// The machines of another cluster, whose settings can't be read, do not hold up those of this one:
// restore prints the command for them.
func TestRestoreNamesTheCommandForAnotherCluster(t *testing.T) {
	t.Parallel()
	s := newStranded(t)
	broken := filepath.Join(s.dir, "broken.yaml")
	s.write(broken, "power: [\n")
	machine := map[string]any{"driver": "exec", "id": "n4", "name": "n4"}
	line, err := json.Marshal(map[string]any{
		"kind": "intent", "op": "ba9876543210", "action": "off", "cluster": map[string]any{"name": "another"}, "config": broken, "at": time.Now().Add(-time.Hour).UTC(), "pid": 1, "node": "n4",
		"binding": map[string]any{"node": map[string]any{"name": "n4"}, "off": machine, "on": machine},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.journal(testenv.JournalLine(line))
	out, errs, code := s.restore()
	if code != 1 || !s.isOn() || !strings.Contains(errs, "n4 of cluster another: off") || !strings.Contains(errs, "lightsout restore --config "+broken+" --context another") {
		t.Errorf("exit %d, on: %v\n%s%s", code, s.isOn(), out, errs)
	}
}

// Ctrl-Z does not stop a program that is switching a machine: it would hold the
// machine's lock, and continue with an outdated judgement.
func TestCtrlZDoesNotStopARestore(t *testing.T) {
	t.Parallel()
	s := newStranded(t)
	begun, goOn := filepath.Join(s.dir, "begun"), filepath.Join(s.dir, "go-on")
	text, err := os.ReadFile(s.settings)
	if err != nil {
		t.Fatal(err)
	}
	slow := fmt.Sprintf("touch %s; until [ -e %s ]; do sleep 0.1; done; echo on", begun, goOn)
	s.write(s.settings, strings.Replace(string(text), "echo on", slow, 1))
	x := openTerminal(t, 160, 50, []string{"HOME=" + t.TempDir()}, fmt.Sprintf("bash -i -c '%s restore --yes --config %s; echo ended with $?'; sleep 1000", labtest.Program(t, "lightsout"), s.settings))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the machine never received a power-on request")
		}
	}
	x.keys("C-z")
	s.write(goOn, "")
	x.waitFor("the end", time.Minute, `ended with \d+`)
	if !s.isOn() {
		t.Error("the machine is not on")
	}
}

// An operator types ahead while restore still asks the driver. The question that comes
// then has no answer yet.
func TestKeysTypedBeforeAQuestionDoNotAnswerIt(t *testing.T) {
	t.Parallel()
	s := newStranded(t)
	started := filepath.Join(s.dir, "started")
	slow, err := json.Marshal([]string{"sh", "-c", "touch " + started + "; sleep 2; cat " + s.machine})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := os.ReadFile(s.settings)
	if err != nil {
		t.Fatal(err)
	}
	s.write(s.settings, strings.Replace(string(settings), `["cat","`+s.machine+`"]`, string(slow), 1))
	x := openTerminal(t, 120, 36, []string{"HOME=" + t.TempDir()}, labtest.Program(t, "lightsout")+" restore --config "+s.settings+"; echo ended with $?; exec sleep 600")
	until(t, "the driver is asked", func() bool { _, err := os.Stat(started); return err == nil })
	x.keys("y", "Enter")
	x.waitFor("the question", time.Minute, `power on n3\? \[y/N\]`)
	x.keys("n", "Enter")
	x.waitFor("the end", time.Minute, `nothing was switched[\s\S]*ended with 1`)
	if b, err := os.ReadFile(s.machine); err != nil || string(b) != "off\n" {
		t.Errorf("the machine is %q, %v", b, err)
	}
}

// Without a faulty field the config may lead to another machine, or to the journal of
// another state folder. lightsout does not guess.
func TestAFaultThatMayLeadElsewhereStopsPowerOn(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"restore", "--yes"}, {"power", "on", "n3", "--yes"}} {
		for fault, want := range map[string]string{
			`"stat":"/x",`: `no field "stat"`, `"context":["a"],`: "context", `"bastion":7,"nodes":{},`: `no field "nodes"`, `]`: "",
		} {
			s := newStranded(t)
			settings, err := os.ReadFile(s.settings)
			if err != nil {
				t.Fatal(err)
			}
			s.write(s.settings, strings.Replace(string(settings), "{", "{"+fault, 1))
			out, errs, code := run(t, []string{"HOME=" + s.dir}, append(command, "--config", s.settings)...)
			if b, err := os.ReadFile(s.machine); code == 0 || err != nil || string(b) != "off\n" || !strings.Contains(errs, want) {
				t.Errorf("%s, %q: exit %d, the machine is %q, %v; wanted %q in\n%s%s", command[0], fault, code, b, err, want, out, errs)
			}
		}
		s := newStranded(t)
		settings, err := os.ReadFile(s.settings)
		if err != nil {
			t.Fatal(err)
		}
		s.write(s.settings, strings.Replace(string(settings), `"power":{`, `"power":{"nodes":{"n3":{"machin":"vm-7"}},`, 1))
		out, errs, code := run(t, []string{"HOME=" + s.dir}, append(command, "--config", s.settings)...)
		if b, err := os.ReadFile(s.machine); code == 0 || err != nil || string(b) != "off\n" || !strings.Contains(errs, "machin") {
			t.Errorf("%s, a machine's name: exit %d, the machine is %q, %v\n%s%s", command[0], code, b, err, out, errs)
		}
	}
}

// A fault elsewhere in the config file, or in the ssh configuration, must not keep a machine
// off.
func TestAFaultElsewhereDoesNotKeepAMachineOff(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"restore", "--yes"}, {"power", "on", "n3", "--yes", "--wait-for-api", "1s"}} {
		for name, c := range map[string]struct{ settings, ssh, want string }{
			"the load":              {`"load":{"time_out":"3s"}`, "", "time_out"},
			"the guards":            {`"guards":{"view_age":"99s"}`, "", "view_age"},
			"production":            {`"production":"maybe","production_contexts":["p*"]`, "", "production"},
			"the ssh configuration": {`"namespaces":[]`, "Include [\n", ""},
			"a driver of no use":    {`"recorder":{"probe":[]}`, "", "probe"},
		} {
			s := newStranded(t)
			s.write(filepath.Join(s.dir, ".ssh", "config"), c.ssh)
			settings, err := os.ReadFile(s.settings)
			if err != nil {
				t.Fatal(err)
			}
			if command[0] == "power" {
				settings = []byte(strings.Replace(string(settings), "{", `{"kubeconfig":"`+kubeconfig(t, "https://"+testenv.Refusing(t))+`",`, 1))
			}
			s.write(s.settings, strings.Replace(string(settings), "{", "{"+c.settings+",", 1))
			out, errs, code := run(t, []string{"HOME=" + s.dir}, append(command, "--config", s.settings)...)
			if b, err := os.ReadFile(s.machine); code != 0 || err != nil || string(b) != "on\n" || !strings.Contains(errs, c.want) {
				t.Errorf("%s, %q: exit %d, the machine is %q, %v; wanted %q in\n%s%s", command[0], name, code, b, err, c.want, out, errs)
			}
		}
	}
}
