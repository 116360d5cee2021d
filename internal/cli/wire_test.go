package cli

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"

	cryptossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/loadgen"
	"lightsout/power/ssh"
)

// refusingBastion is an ssh server that opens no connection, with the reason
// and in the words given, and a client of it.
func refusingBastion(t *testing.T, reason cryptossh.RejectionReason, words string) *ssh.Client {
	t.Helper()
	dir := t.TempDir()
	newKey := func() (cryptossh.Signer, ed25519.PrivateKey) {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		signer, err := cryptossh.NewSignerFromKey(private)
		if err != nil {
			t.Fatal(err)
		}
		return signer, private
	}
	host, _ := newKey()
	_, mine := newKey()
	block, err := cryptossh.MarshalPrivateKey(mine, "")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	key, known := filepath.Join(dir, "key"), filepath.Join(dir, "known_hosts")
	for name, text := range map[string]string{
		key:   string(pem.EncodeToMemory(block)),
		known: knownhosts.Line([]string{l.Addr().String()}, host.PublicKey()) + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := &cryptossh.ServerConfig{PublicKeyCallback: func(cryptossh.ConnMetadata, cryptossh.PublicKey) (*cryptossh.Permissions, error) {
		return nil, nil
	}}
	config.AddHostKey(host)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, channels, requests, err := cryptossh.NewServerConn(c, config)
				if err != nil {
					return
				}
				go cryptossh.DiscardRequests(requests)
				for ch := range channels {
					_ = ch.Reject(reason, words)
				}
			}()
		}
	}()
	client, err := ssh.New(ssh.Options{Bastion: "me@" + l.Addr().String(), IdentityFiles: []string{key}, KnownHosts: []string{known}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// What fails at the target is the target's also through a bastion; what fails
// on the way is our own.
func TestAFailureBehindTheBastionIsTheTargets(t *testing.T) {
	for _, c := range []struct {
		reason cryptossh.RejectionReason
		words  string // OpenSSH's
		want   loadgen.Class
	}{
		{cryptossh.ConnectionFailed, "Connection refused", loadgen.ClassRefused},
		{cryptossh.ConnectionFailed, "No route to host", loadgen.ClassUnreachable},
		{cryptossh.ConnectionFailed, "Network is unreachable", loadgen.ClassUnreachable},
		{cryptossh.ConnectionFailed, "Connection timed out", loadgen.ClassConnectTimeout},
		{cryptossh.ConnectionFailed, "Name or service not known", loadgen.ClassLocal},
		{cryptossh.Prohibited, "open failed", loadgen.ClassLocal},
	} {
		var got loadgen.Record
		g, err := loadgen.New(loadgen.Options{
			Target: loadgen.Target{URL: "http://10.0.0.11:31514/"}, Dial: bastionDialer(refusingBastion(t, c.reason, c.words)),
			Record: func(r loadgen.Record) { got = r },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Begin(loadgen.Spec{Shape: loadgen.Burst, N: 1}); err != nil {
			t.Fatal(err)
		}
		if err := g.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		g.Close()
		if got.Class != c.want {
			t.Errorf("%q: %s (%s), want %s", c.words, got.Class, got.Error, c.want)
		}
	}
}

// One config file serves several contexts: each is production by itself.
func TestAContextIsProduction(t *testing.T) {
	for context, want := range map[string]bool{
		"staging": false, "west": true, "west-2": false, "prod": true, "eu-prod-1": true, "admin@PROD.example.org": true,
		"kube-production2": true, "reproduce": false, "products": false, "": false,
	} {
		cfg := &config.Config{ProductionContexts: []string{"west"}}
		if got := production(cfg, &cluster.Config{Context: context}); got != want {
			t.Errorf("%q: %v", context, got)
		}
		if cfg.Production = true; !production(cfg, &cluster.Config{Context: context}) {
			t.Errorf("%q: the file marks it", context)
		}
	}
}
