package ssh

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	cryptossh "golang.org/x/crypto/ssh"
)

// stub is an ssh server for what a real sshd can't be made to do: to go away at
// a given moment, and to lead to addresses that are silent.
type stub struct {
	key keyPair
	// dial leads a forwarded connection to an address (host:port); nil answers
	// nothing, like a bastion whose own connection attempt gets no answer. An
	// OpenChannelError gives the reason for a refusal.
	dial func(addr string) func() (net.Conn, error)
	// exec answers a command: what it returns is done with the request.
	exec func(command string, req *cryptossh.Request, ch cryptossh.Channel, conn *cryptossh.ServerConn)
	// second asks for more after a key; nil: a key is enough.
	second cryptossh.ServerAuthCallbacks
	// execs counts commands, without probes.
	execs atomic.Int32
}

// start serves the stub on a loopback port and returns it as a server.
func (s *stub) start(t *testing.T) *server {
	t.Helper()
	s.key = newKey(t, "stub", "")
	cfg := &cryptossh.ServerConfig{
		PublicKeyCallback: func(cryptossh.ConnMetadata, cryptossh.PublicKey) (*cryptossh.Permissions, error) {
			if s.second.KeyboardInteractiveCallback != nil || s.second.PasswordCallback != nil {
				return nil, &cryptossh.PartialSuccessError{Next: s.second}
			}
			return nil, nil
		},
	}
	cfg.AddHostKey(s.key.signer)
	addr := tcpServer(t, func(conn net.Conn) {
		server, channels, requests, err := cryptossh.NewServerConn(conn, cfg)
		if err != nil {
			return
		}
		var wg sync.WaitGroup
		wg.Go(func() { cryptossh.DiscardRequests(requests) })
		for ch := range channels {
			wg.Go(func() { s.channel(ch, server) })
		}
		server.Close()
		wg.Wait()
	})
	_, port, _ := net.SplitHostPort(addr)
	return &server{addr: addr, port: port, keys: []keyPair{s.key}}
}

func (s *stub) channel(offered cryptossh.NewChannel, conn *cryptossh.ServerConn) {
	switch offered.ChannelType() {
	case "direct-tcpip":
		var to struct {
			Host  string
			Port  uint32
			From  string
			FPort uint32
		}
		if cryptossh.Unmarshal(offered.ExtraData(), &to) != nil || s.dial == nil {
			return
		}
		open := s.dial(net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
		if open == nil {
			return
		}
		far, err := open()
		if err != nil {
			reason := cryptossh.ConnectionFailed
			var given *cryptossh.OpenChannelError
			if errors.As(err, &given) {
				reason = given.Reason
			}
			_ = offered.Reject(reason, err.Error())
			return
		}
		defer far.Close()
		ch, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go cryptossh.DiscardRequests(requests)
		go func() {
			defer far.Close()
			pipe(far, ch)
		}()
		pipe(ch, far)
		ch.Close()
	case "session":
		ch, requests, err := offered.Accept()
		if err != nil {
			return
		}
		defer ch.Close()
		for req := range requests {
			if req.Type != "exec" {
				_ = req.Reply(false, nil)
				continue
			}
			var command struct{ Line string }
			_ = cryptossh.Unmarshal(req.Payload, &command)
			if !isProbe(command.Line) {
				s.execs.Add(1)
			}
			s.exec(strings.TrimSpace(command.Line), req, ch, conn)
			return
		}
	default:
		_ = offered.Reject(cryptossh.UnknownChannelType, "")
	}
}

func pipe(to interface{ Write([]byte) (int, error) }, from interface{ Read([]byte) (int, error) }) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// exit ends a session with a status.
func exit(req *cryptossh.Request, ch cryptossh.Channel, status uint32, stderr string) {
	_ = req.Reply(true, nil)
	_, _ = ch.Stderr().Write([]byte(stderr))
	_, _ = ch.SendRequest("exit-status", false, cryptossh.Marshal(struct{ Status uint32 }{status}))
}

// isProbe reports whether a command line only shows whether another one would run.
func isProbe(line string) bool {
	return strings.Contains(line, " -l ") || strings.Contains(line, "command -v")
}
