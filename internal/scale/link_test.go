package scale

import (
	"context"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/tools/clientcmd"
)

// The slow link: 20 Mbit/s from the server, as through an ssh tunnel to a bastion.
const (
	linkRate  = 20_000_000 / 8 // bytes a second
	linkBurst = 16 << 10
)

// link is a slow way to an API server. All connections share its rate.
type link struct {
	kubeconfig string
	// crossed is the number of bytes from the server on the link: encrypted and, if the
	// server does so, compressed.
	crossed atomic.Int64
	pace    *rate.Limiter
	server  string
}

// openLink writes a copy of the kubeconfig that leads through a slow link; b closes the
// link at its end.
func openLink(b *testing.B, kubeconfig string) *link {
	b.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		b.Fatal(err)
	}
	here, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { here.Close() })
	l := &link{kubeconfig: filepath.Join(b.TempDir(), "kubeconfig"), pace: rate.NewLimiter(linkRate, linkBurst)}
	for _, c := range config.Clusters {
		u, err := url.Parse(c.Server)
		if err != nil {
			b.Fatal(err)
		}
		l.server = u.Host
		u.Host = here.Addr().String()
		c.Server = u.String()
	}
	if err := clientcmd.WriteToFile(*config, l.kubeconfig); err != nil {
		b.Fatal(err)
	}
	go func() {
		for {
			c, err := here.Accept()
			if err != nil {
				return
			}
			go l.carry(c)
		}
	}()
	return l
}

// carry connects one client with the server until either hangs up.
func (l *link) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", l.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer server.Close()
		_, _ = io.Copy(server, client)
	}()
	for chunk := make([]byte, linkBurst); ; {
		n, err := server.Read(chunk)
		if n > 0 {
			if l.pace.WaitN(context.Background(), n) != nil {
				return
			}
			l.crossed.Add(int64(n))
			if _, err := client.Write(chunk[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// throughLink measures the start through a slow link. Until all pods have arrived the
// screen must not say that there are none.
func (r *trial) throughLink() {
	l := openLink(r.b, r.info.Kubeconfig)
	var args []string
	if *castFile != "" {
		args = []string{"--cast", *castFile}
	}
	s := openScreen(r.b, l.kubeconfig, args...)
	defer s.close()
	until := func(text string) time.Duration {
		return s.wait(text, 10*time.Minute, func(lines []string) bool {
			if contains(lines, "no pods") >= 0 {
				r.b.Fatalf("the screen claims that there are no pods:\n%s", strings.Join(lines, "\n"))
			}
			return contains(lines, text) >= 0
		}).Sub(s.started)
	}
	nodes := until(r.allNodes())
	s.keys("3az")
	took := until(r.allPods())
	r.t.set("at 20 Mbit/s: all nodes on the screen", "%s", seconds(nodes))
	r.t.set("at 20 Mbit/s: complete table", "%s", seconds(took))
	r.t.set("at 20 Mbit/s: crossed the link until then", "%.1f MB", float64(l.crossed.Load())/1e6)
}
