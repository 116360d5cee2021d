package sshd

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// Config says what a Server is.
type Config struct {
	HostKey    ssh.Signer
	User       string          // the one user that may log in
	Authorized []ssh.PublicKey // any of them
	// Dial serves direct-tcpip forwarding; nil forbids it.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Run runs a command and returns its exit status; nil forbids commands.
	// ctx ends with the connection.
	Run func(ctx context.Context, command string, stdin io.Reader, stdout, stderr io.Writer) (status int)
}

// Server is an SSH server. It is safe for use by several goroutines at once.
type Server struct {
	config Config
	ssh    *ssh.ServerConfig
}

// New returns a server; Serve starts it.
func New(c Config) *Server {
	s := &Server{config: c, ssh: &ssh.ServerConfig{
		MaxAuthTries:  6,
		ServerVersion: "SSH-2.0-lightsout-lab",
		PublicKeyCallback: func(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if meta.User() == c.User {
				for _, k := range c.Authorized {
					if string(k.Marshal()) == string(key.Marshal()) {
						return nil, nil
					}
				}
			}
			return nil, errors.New("permission denied")
		},
	}}
	s.ssh.AddHostKey(c.HostKey)
	return s
}

// Serve accepts connections until ctx ends or l is closed, closes them all
// and returns when all that it started has ended. A closed listener is no
// error.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		wg.Go(func() { s.serve(ctx, conn) })
	}
}

// serve handles one connection until it or ctx ends.
func (s *Server) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()

	conn.SetDeadline(time.Now().Add(2 * time.Minute)) // sshd's LoginGraceTime
	_, channels, requests, err := ssh.NewServerConn(conn, s.ssh)
	if err != nil {
		return
	}
	conn.SetDeadline(time.Time{})

	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()                                  // before waiting
	wg.Go(func() { ssh.DiscardRequests(requests) }) // answers keepalives
	for ch := range channels {
		switch {
		case ch.ChannelType() == "direct-tcpip" && s.config.Dial != nil:
			wg.Go(func() { s.forward(ctx, ch) })
		case ch.ChannelType() == "session" && s.config.Run != nil:
			wg.Go(func() { s.session(ctx, ch) })
		case ch.ChannelType() == "direct-tcpip" || ch.ChannelType() == "session":
			ch.Reject(ssh.Prohibited, "administratively prohibited")
		default:
			ch.Reject(ssh.UnknownChannelType, "unknown channel type")
		}
	}
}

// forward serves one direct-tcpip channel (RFC 4254, section 7.2).
func (s *Server) forward(ctx context.Context, ch ssh.NewChannel) {
	var to struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(ch.ExtraData(), &to); err != nil || to.Port > 65535 {
		ch.Reject(ssh.ConnectionFailed, "malformed request")
		return
	}
	conn, err := s.config.Dial(ctx, "tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
	if err != nil {
		ch.Reject(ssh.ConnectionFailed, dialError(err))
		return
	}
	channel, requests, err := ch.Accept()
	if err != nil {
		conn.Close()
		return
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()

	var wg sync.WaitGroup
	wg.Go(func() { // ends when the client closes the channel, which is more than the end of its stream
		ssh.DiscardRequests(requests)
		conn.Close()
	})
	wg.Go(func() {
		io.Copy(conn, channel)
		if c, ok := conn.(interface{ CloseWrite() error }); ok {
			c.CloseWrite()
		}
	})
	io.Copy(channel, conn)
	channel.CloseWrite()
	channel.Close()
	conn.Close()
	wg.Wait()
}

// dialError says what OpenSSH's server says of a failed connection.
func dialError(err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno) && errno == syscall.ECONNREFUSED:
		return "Connection refused"
	case errors.As(err, &errno) && errno == syscall.EHOSTUNREACH:
		return "No route to host"
	case errors.As(err, &errno) && errno == syscall.ETIMEDOUT, errors.Is(err, os.ErrDeadlineExceeded):
		return "Connection timed out"
	}
	if errors.As(err, new(*net.DNSError)) {
		return "Name or service not known"
	}
	return "connect failed"
}

// session serves one session channel: one command (RFC 4254, section 6).
func (s *Server) session(ctx context.Context, ch ssh.NewChannel) {
	channel, requests, err := ch.Accept()
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer channel.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	run := func(command string) {
		wg.Go(func() {
			status := s.config.Run(ctx, command, channel, channel, channel.Stderr())
			channel.CloseWrite()
			channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(status)}))
			channel.Close()
		})
	}
	started := false
	for req := range requests {
		ok := false
		switch req.Type {
		case "exec":
			var exec struct{ Command string }
			if err := ssh.Unmarshal(req.Payload, &exec); err == nil && !started {
				started, ok = true, true
				req.Reply(true, nil)
				run(exec.Command)
				continue
			}
		case "shell":
			if !started {
				started, ok = true, true
				req.Reply(true, nil)
				run("")
				continue
			}
		case "env", "pty-req", "window-change":
			ok = true // taken, and of no effect
		}
		if req.WantReply {
			req.Reply(ok, nil)
		}
	}
	cancel() // the client has closed the channel
}

// Key is an SSH key pair.
type Key struct {
	Signer  ssh.Signer
	Private []byte // PEM, OpenSSH's format
	Public  []byte // a line as in authorized_keys
}

// NewKey makes an ed25519 key pair.
func NewKey(comment string) (*Key, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make an ssh key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, comment)
	if err != nil {
		return nil, fmt.Errorf("make an ssh key: %w", err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return nil, fmt.Errorf("make an ssh key: %w", err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("make an ssh key: %w", err)
	}
	return &Key{Signer: signer, Private: pem.EncodeToMemory(block), Public: ssh.MarshalAuthorizedKey(key)}, nil
}
