package main

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMachinesLeftOffAreNotForgotten closes the program while a machine is off:
// by the key, which asks; by kill -9, after which the terminal is right and
// the next start offers to power it on.
func TestMachinesLeftOffAreNotForgotten(t *testing.T) {
	l := openLab(t, "mdx")
	state := t.TempDir()
	config := l.config(func(c map[string]any) { c["state"] = state })
	command := filepath.Join(binaries(t), "lightsout") + " " + strings.Join(l.args(config), " ")
	const long = time.Minute
	x := openTerminal(t, 120, 36, nil, "while :; do sh -c 'echo $$ >"+state+"/pid; exec "+command+"'; echo exit $?; read again; done")
	x.waitFor("the cluster", long, ready("5"), `16/16\s+Running`)
	x.mark("kube-node4")
	x.keys("s")
	x.answer("Shut down kube-node4?", "Shut down 1 node")
	x.waitFor("the machine off", long, `kube-node4\s+.*\boff\b`)

	x.keys("q")
	x.waitFor("the question", long, "Leave with machines off", "kube-node4")
	x.answer("Leave with machines off", "Stay")
	x.waitFor("the screen again", long, ready("[45]"))

	pid, err := exec.Command("cat", state+"/pid").Output()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err != nil {
		t.Fatal(err)
	}
	kill(t, n)
	s := x.waitFor("the terminal put right", long, `exit 137`)
	if !strings.Contains(s, "lightsout restore") {
		t.Errorf("nothing is said of restoring:\n%s", s)
	}
	if alt := x.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}"); strings.TrimSpace(alt) != "0 1" {
		t.Errorf("alternate screen and cursor are %q", alt)
	}
	x.keys("Enter")
	x.waitFor("the offer", long, "Machines are still off", "kube-node4")
	x.answer("Machines are still off", "Power on")
	x.waitFor("all on again", long, ready("5"), `16/16\s+Running`)
	x.keys("q")
	x.waitFor("the shell again", long, `exit 0`)

	x.keys("Enter")
	x.waitFor("the cluster", long, ready("5"))
	x.mark("kube-node3")
	x.keys("S")
	x.answer("Pull the plug on kube-node3?", "Pull the plug on 1 node") // by the portal: ssh can't
	x.waitFor("the machine off", long, `kube-node3\s+.*\boff\b`)
	x.keys("q")
	x.answer("Leave with machines off", "Leave them off")
	x.waitFor("what is still off", long, `still off: kube-node3`)
}
