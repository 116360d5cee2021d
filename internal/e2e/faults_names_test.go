//go:build linux

package e2e

import (
	"net"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
)

// hostName is the front's, for a name service that knows no other.
const hostName = "api.lightsout.test"

// names is a name service at port 53 of an address of its own.
type names struct {
	t    *testing.T
	addr string
	conn net.PacketConn
}

func newNames(t *testing.T) *names {
	t.Helper()
	n := &names{t: t, addr: "127.0.0.53"}
	n.start()
	t.Cleanup(n.stop)
	return n
}

func (n *names) stop() { n.conn.Close() }

func (n *names) start() {
	n.t.Helper()
	conn, err := net.ListenPacket("udp", net.JoinHostPort(n.addr, "53"))
	if err != nil {
		n.t.Fatal(err)
	}
	n.conn = conn
	go func() {
		buf := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply, err := answer(buf[:size]); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
}

// answer says where hostName is, and that there is no other name.
func answer(question []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return nil, err
	}
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	switch q := m.Questions[0]; {
	case q.Name.String() != hostName+".":
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class},
			Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 2}},
		}}
	}
	return m.Pack()
}

// nameServiceGone ends the name service by which the program finds the API server:
// a connection stands without it, a new one can't be made.
func nameServiceGone(t *testing.T, l *labtest.Lab, atRest int) {
	needsNamespaces(t)
	n, s := newNames(t), newScene(t, l, "fault-names")
	s.front = newFront(t, s.api)
	_, port, _ := net.SplitHostPort(s.front.addr)
	config := write(t, "lightsout.yaml", "namespaces: ["+s.name+"]\n")
	resolver, hosts := write(t, "resolv.conf", "nameserver "+n.addr+"\n"), write(t, "hosts", "127.0.0.1 localhost\n")
	s.open(func(g *glass) {
		g.through("unshare", "--mount", "sh", "-c", `mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/hosts && shift 2 && exec "$@"`, "sh", resolver, hosts)
	}, "--config", config, "--kubeconfig", s.front.kubeconfigAt(net.JoinHostPort(hostName, port)))
	s.survives(atRest, func(s *scene) {
		n.stop()
		s.scale(2)
		s.sees("the change by the connection that stands", isLive, s.probe(2))
		s.front.cut()
		s.sees("that it is not live", `STALE \d.*host name `+hostName+` cannot be found`, s.probe(2))
		s.scale(4)
		n.start()
		s.sees("what has changed meanwhile", isLive, s.probe(4))
	})
	s.checkTold(true)
	s.recordHas("0/4")
}

// recordHas checks that the record's timeline has a text.
func (s *scene) recordHas(text string) {
	s.t.Helper()
	if events := s.read(record.EventsFile); !strings.Contains(events, text) {
		s.t.Errorf("the record lacks %q:\n%s", text, events)
	}
}
