package ssh

import (
	"strings"
	"testing"
	"time"

	cryptossh "golang.org/x/crypto/ssh"
)

func TestClocksAreComparedWithThisMachines(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	bastion, node := startSSHD(t, key.authorized, nil), startSSHD(t, key.authorized, nil)
	client := newClient(t, Options{Bastion: me(t) + "@" + bastion.addr, ConfigFile: nodeConfig(t, node, me(t)),
		IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, bastion, node)}})
	d := NewDriver(client, DriverOptions{})
	m := find(t, d, "n", "10.0.0.13")
	// Both are this machine's own.
	if ahead, within, err := d.Clock(soon(t), m); err != nil || ahead.Abs() > within+time.Second {
		t.Errorf("the node's is %s ahead, within %s, %v", ahead, within, err)
	}
	if ahead, within, err := client.BastionClock(soon(t)); err != nil || ahead.Abs() > within+time.Second {
		t.Errorf("the bastion's is %s ahead, within %s, %v", ahead, within, err)
	}
	for said, want := range map[string]string{"soon": "did not report its time", "\x1b[31m": "did not report its time"} {
		s := (&stub{exec: func(_ string, req *cryptossh.Request, ch cryptossh.Channel, _ *cryptossh.ServerConn) {
			_, _ = ch.Write([]byte(said))
			exit(req, ch, 0, "")
		}}).start(t)
		other := newClient(t, Options{ConfigFile: nodeConfig(t, s, "u"), IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, s)}})
		if _, _, err := NewDriver(other, DriverOptions{}).Clock(soon(t), m); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("it said %q: %v", said, err)
		}
	}
}
