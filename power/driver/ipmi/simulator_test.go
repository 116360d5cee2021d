package ipmi

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/power"
	"lightsout/power/powertest"
)

// simulator is a running ipmi_sim (OpenIPMI; Debian's package openipmi): a controller that
// somebody else wrote. Its address is that where it listens.
type simulator struct{ address, dir string }

const simConfig = `name "bmc"
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

const simEmulation = `mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02
mc_enable 0x20
`

// simChassis is what the simulator calls to switch its machine, which is a file.
const simChassis = `#!/bin/sh
d=${0%/*}; op=$1; shift
put() { echo "$1" > "$d/new" && mv "$d/new" "$d/power"; }
case $op in
get) for w; do case $w in power) echo "power:$(cat "$d/power")" ;; *) echo "$w:0" ;; esac; done ;;
set) while [ $# -gt 0 ]; do case $1 in power) put "$2" ;; shutdown) put 0 ;; esac; shift 2; done ;;
check) for w; do case $w in power|shutdown) ;; *) exit 1 ;; esac; done ;;
esac
exit 0
`

// startSimulator runs a simulator whose machine is on, until the test ends.
func startSimulator(t *testing.T) *simulator {
	t.Helper()
	powertest.Need(t, "ipmi_sim")
	free, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &simulator{address: free.LocalAddr().String(), dir: t.TempDir()}
	_, port, _ := net.SplitHostPort(s.address)
	free.Close()
	for name, text := range map[string]string{
		"lan.conf": fmt.Sprintf(simConfig, port, s.dir, user, password), "emulation": simEmulation, "chassis": simChassis, "power": "1\n",
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
func (s *simulator) await(t *testing.T, ended <-chan struct{}) {
	t.Helper()
	conn, err := net.Dial("udp", s.address)
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

// state is the true state of its machine.
func (s *simulator) state() power.State {
	b, _ := os.ReadFile(filepath.Join(s.dir, "power"))
	return map[string]power.State{"1": power.On, "0": power.Off}[strings.TrimSpace(string(b))]
}
