// Package ipmisim runs OpenIPMI's BMC simulator (ipmi_sim, Debian's package
// openipmi) for tests: a controller that somebody else wrote.
package ipmisim

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/internal/testenv"
	"lightsout/power"
)

// User and Password log in.
const (
	User     = "ADMIN"
	Password = "hunter2-planted"
)

// Sim is a running simulator.
type Sim struct {
	// Host and Port are where it listens, by UDP.
	Host string
	Port string
	dir  string
}

// Need skips the test without the programs.
func Need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		_, here := exec.LookPath(p)
		if _, there := os.Stat("/usr/sbin/" + p); here != nil && there != nil {
			testenv.Skip(t, p+" is not installed")
		}
	}
}

const config = `name "bmc"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 %s
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "%s/chassis"
  user 1 true "" "test" user 10 none md2 md5 straight
  user 2 true "%s" "%s" admin 10 none md2 md5 straight
`

const emulation = `mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02
mc_enable 0x20
`

// chassis is what the simulator calls to switch its machine, which is a file.
const chassis = `#!/bin/sh
d=${0%/*}; op=$1; shift
put() { echo "$1" > "$d/new" && mv "$d/new" "$d/power"; }
case $op in
get) for w; do case $w in power) echo "power:$(cat "$d/power")" ;; *) echo "$w:0" ;; esac; done ;;
set) while [ $# -gt 0 ]; do case $1 in power) put "$2" ;; shutdown) put 0 ;; esac; shift 2; done ;;
check) for w; do case $w in power|shutdown) ;; *) exit 1 ;; esac; done ;;
esac
exit 0
`

// Start runs a simulator whose machine is on, until the test ends.
func Start(t *testing.T) *Sim {
	t.Helper()
	Need(t, "ipmi_sim")
	free, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Sim{Host: "127.0.0.1", dir: t.TempDir()}
	_, s.Port, _ = net.SplitHostPort(free.LocalAddr().String())
	free.Close()
	for name, text := range map[string]string{
		"lan.conf": fmt.Sprintf(config, s.Port, s.dir, User, Password), "emulation": emulation, "chassis": chassis, "power": "1\n",
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	log := &strings.Builder{}
	cmd := exec.Command("ipmi_sim", "-c", "lan.conf", "-f", "emulation", "-n", "-s", s.dir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("the simulator said: %s", power.Clean(log.String()))
		}
	})
	s.await(t, ended)
	return s
}

// ping is an ASF presence ping, which a BMC answers with a pong (ASF 2.0, 3.2.4.2).
var ping = []byte{6, 0, 0xff, 6, 0, 0, 0x11, 0xbe, 0x80, 0, 0, 0}

// await waits until it answers.
func (s *Sim) await(t *testing.T, ended <-chan struct{}) {
	t.Helper()
	conn, err := net.Dial("udp", net.JoinHostPort(s.Host, s.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	buf := make([]byte, 100)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		select {
		case <-ended:
			t.Fatal("the simulator ended at once")
		default:
		}
		_, _ = conn.Write(ping)
		_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, err := conn.Read(buf); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the simulator does not answer")
}

// State is the true state of its machine.
func (s *Sim) State() power.State {
	b, _ := os.ReadFile(filepath.Join(s.dir, "power"))
	return map[string]power.State{"1": power.On, "0": power.Off}[strings.TrimSpace(string(b))]
}
