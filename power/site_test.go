package power_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	cryptossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"lightsout/power/driver/mdx"
	"lightsout/power/ssh"
)

const token = "eyJhbGciOi.planted-secret.c2ln"

// site is a portal with one VM behind a bastion, and what is wrong there.
type site struct {
	portal  *httptest.Server
	bastion net.Listener

	mu     sync.Mutex
	status string
	posts  []string // power requests, in order
	conns  []net.Conn
	// answer stands in for the portal when it returns true; it is asked
	// without mu.
	answer func(w http.ResponseWriter, r *http.Request) bool
	// deaf: power requests are accepted and never carried out.
	deaf bool
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{status: "PowerON"}
	s.portal = httptest.NewServer(s)
	t.Cleanup(s.portal.Close)
	return s
}

func (s *site) set(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // api vm ID [action]
	post := r.Method == http.MethodPost && len(path) == 4
	s.mu.Lock()
	if post {
		s.posts = append(s.posts, path[3])
	}
	answer := s.answer
	s.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.URL.Path == "/api/refresh/", r.Header.Get("Authorization") != "JWT "+token:
		http.Error(w, `{"detail": "bad token"}`, http.StatusUnauthorized)
	case post:
		if !s.deaf {
			s.status = "PowerOFF"
			if path[3] == "power_on" {
				s.status = "PowerON"
			}
		}
		w.WriteHeader(http.StatusAccepted)
	default:
		_ = json.NewEncoder(w).Encode(map[string]string{"name": "kube-node3", "status": s.status})
	}
}

// driver makes the portal's driver.
func (s *site) driver(t *testing.T, dial func(context.Context, string, string) (net.Conn, error)) *mdx.Driver {
	t.Helper()
	d, err := mdx.New(mdx.Options{URL: s.portal.URL, Token: func() (string, error) { return token, nil }, Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// throughBastion starts the bastion and gives a client that goes through it.
func (s *site) throughBastion(t *testing.T) *ssh.Client {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := cryptossh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	if s.bastion, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	cfg := &cryptossh.ServerConfig{NoClientAuth: true}
	cfg.AddHostKey(signer)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := s.bastion.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			wg.Go(func() { forward(conn, cfg) })
		}
	})
	t.Cleanup(func() { s.loseBastion(); wg.Wait() })

	dir := t.TempDir()
	block, err := cryptossh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	addr := s.bastion.Addr().String()
	for name, data := range map[string]string{
		"id": string(pem.EncodeToMemory(block)), "config": "", "known_hosts": knownhosts.Line([]string{addr}, signer.PublicKey()) + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := ssh.New(ssh.Options{Bastion: "u@" + addr, ConfigFile: filepath.Join(dir, "config"), IdentityFiles: []string{filepath.Join(dir, "id")},
		KnownHosts: []string{filepath.Join(dir, "known_hosts")}, AgentSocket: "none", RetryPause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// loseBastion ends the bastion and all that goes through it.
func (s *site) loseBastion() {
	s.bastion.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
}

// forward serves one ssh connection that only forwards.
func forward(conn net.Conn, cfg *cryptossh.ServerConfig) {
	server, channels, requests, err := cryptossh.NewServerConn(conn, cfg)
	if err != nil {
		return
	}
	defer server.Close()
	go cryptossh.DiscardRequests(requests)
	var wg sync.WaitGroup
	for offered := range channels {
		var to struct {
			Host  string
			Port  uint32
			From  string
			FPort uint32
		}
		_ = cryptossh.Unmarshal(offered.ExtraData(), &to)
		far, err := net.Dial("tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
		if err != nil {
			_ = offered.Reject(cryptossh.ConnectionFailed, err.Error())
			continue
		}
		near, requests, err := offered.Accept()
		if err != nil {
			far.Close()
			continue
		}
		go cryptossh.DiscardRequests(requests)
		wg.Go(func() { defer far.Close(); copyUntilEnd(far, near) })
		wg.Go(func() { defer near.Close(); copyUntilEnd(near, far) })
	}
	wg.Wait()
}

func copyUntilEnd(to interface{ Write([]byte) (int, error) }, from interface{ Read([]byte) (int, error) }) {
	buf := make([]byte, 8<<10)
	for {
		n, err := from.Read(buf)
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}
