//go:build linux

package e2e

import (
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"lightsout/internal/labtest"
)

// door stands before the lab's bastion, as a network does.
type door struct {
	t    *testing.T
	addr string
	wg   sync.WaitGroup

	mu     sync.Mutex
	l      net.Listener
	to     string
	conns  map[net.Conn]bool
	thawed chan struct{} // closed unless what is sent does not arrive
}

func newDoor(t *testing.T, to string) *door {
	t.Helper()
	d := &door{t: t, addr: elsewhere, to: to, conns: map[net.Conn]bool{}, thawed: make(chan struct{})}
	close(d.thawed)
	d.open()
	t.Cleanup(func() { d.thaw(); d.shut(); d.wg.Wait() })
	return d
}

// open listens, at the same address each time.
func (d *door) open() {
	d.t.Helper()
	l, err := net.Listen("tcp", d.addr)
	if err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.l, d.addr = l, l.Addr().String()
	d.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d.mu.Lock()
			to := d.to
			d.mu.Unlock()
			far, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				continue
			}
			d.mu.Lock()
			d.conns[c], d.conns[far] = true, true
			d.mu.Unlock()
			d.wg.Go(func() { d.carry(c, far) })
			d.wg.Go(func() { d.carry(far, c) })
		}
	})
}

func (d *door) carry(to, from net.Conn) {
	defer func() {
		to.Close()
		from.Close()
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.conns, to)
		delete(d.conns, from)
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		d.mu.Lock()
		thawed := d.thawed
		d.mu.Unlock()
		<-thawed
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}

// shut closes the door and every connection.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.l.Close()
	d.end()
}

func (d *door) end() {
	for c := range d.conns {
		c.Close()
	}
}

// freeze lets nothing through, without a word to anybody.
func (d *door) freeze() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.thawed = make(chan struct{})
}

func (d *door) thaw() {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.thawed:
	default:
		close(d.thawed)
	}
}

// lead makes connections from now on go elsewhere, and ends those there are.
func (d *door) lead(to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = to
	d.end()
}

// stranger is an ssh server whose key nobody knows.
func stranger(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &ssh.ServerConfig{NoClientAuth: true}
	cfg.AddHostKey(signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _, _, _ = ssh.NewServerConn(c, cfg); c.Close() }()
		}
	}()
	return l.Addr().String()
}

// throughDoor has a config reach the lab's bastion through a door.
func throughDoor(t *testing.T, l *labtest.Lab, c map[string]any) *door {
	t.Helper()
	user, bastion, _ := strings.Cut(l.Settings().Bastion, "@")
	known, err := os.ReadFile(l.Settings().SSH.KnownHosts[0])
	if err != nil {
		t.Fatal(err)
	}
	d := newDoor(t, bastion)
	c["bastion"] = user + "@" + d.addr
	s := c["ssh"].(map[string]any)
	s["known_hosts"] = []string{write(t, "known_hosts", strings.ReplaceAll(string(known), knownhosts.Normalize(bastion), knownhosts.Normalize(d.addr)))}
	delete(s, "config")
	return d
}

// openSceneBehind is openScene with the lab's bastion, and a door before that.
func openSceneBehind(t *testing.T, l *labtest.Lab, name string) *scene {
	t.Helper()
	s := newScene(t, l, name)
	config := l.ConfigWith(func(c map[string]any) {
		s.door = throughDoor(t, l, c)
		c["namespaces"] = []string{name}
		delete(c, "load") // which names the deployment to show
	})
	s.bastion = s.door.to
	s.open(args(l, config)...)
	return s
}
