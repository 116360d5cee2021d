package ssh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	cryptossh "golang.org/x/crypto/ssh"

	"lightsout/power"
)

// board is a power API behind the bastion that knows whether each machine has
// power, and a driver for it.
type board struct {
	url  string
	http *http.Client

	mu  sync.Mutex
	off map[string]bool
	ons int
}

func (b *board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := r.URL.Query().Get("id")
	if r.Method == http.MethodPost {
		b.ons++
		b.off[id] = false
	}
	_ = json.NewEncoder(w).Encode(!b.off[id])
}

func (b *board) set(id string, off bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.off[id] = off
}

func (b *board) ask(ctx context.Context, method string, m power.Machine) (on bool, err error) {
	req, err := http.NewRequestWithContext(ctx, method, b.url+"/?id="+m.ID, nil)
	if err != nil {
		return false, err
	}
	resp, err := b.http.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	return on, json.NewDecoder(resp.Body).Decode(&on)
}

func (b *board) Name() string { return "board" }
func (b *board) Abilities() power.Abilities {
	return power.Abilities{State: true, ProvesOff: true, On: true}
}
func (b *board) Find(_ context.Context, n power.NodeRef, _ string) (power.Machine, error) {
	return power.Machine{Driver: "board", ID: n.Name, Name: n.Name, How: power.HowName}, nil
}
func (b *board) Ready(_ string, m power.Machine) (power.Machine, error) { return m, nil }
func (b *board) State(ctx context.Context, m power.Machine) (power.Reading, error) {
	on, err := b.ask(ctx, http.MethodGet, m)
	r := power.Reading{State: power.Off, Proof: power.Proven, Detail: "no power", RequestedAt: time.Now(), Arrived: time.Now()}
	if on {
		r.State, r.Detail = power.On, "power"
	}
	return r, err
}
func (b *board) Switch(ctx context.Context, _ power.Action, m power.Machine) error {
	_, err := b.ask(ctx, http.MethodPost, m)
	return err
}

// strictBastion forwards, and refuses more than limit connections at once. Until
// it has refused one, it is slow to open the others, so that they pile up.
func strictBastion(t *testing.T, limit int) (_ *server, most func() int, refused func() int) {
	t.Helper()
	var mu sync.Mutex
	open, peak, turned := 0, 0, 0
	full := make(chan struct{})
	filled := sync.OnceFunc(func() { close(full) })
	st := &stub{dial: func(addr string) func() (net.Conn, error) {
		return func() (net.Conn, error) {
			defer func() {
				select {
				case <-full:
				case <-time.After(500 * time.Millisecond):
				}
			}()
			mu.Lock()
			defer mu.Unlock()
			if open == limit {
				turned++
				filled()
				return nil, &cryptossh.OpenChannelError{Reason: cryptossh.ResourceShortage, Message: "ten is enough"}
			}
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				return nil, err
			}
			open++
			peak = max(peak, open)
			return &counted{Conn: conn, closed: sync.OnceFunc(func() {
				mu.Lock()
				defer mu.Unlock()
				open--
			})}, nil
		}
	}}
	read := func(n *int) func() int {
		return func() int {
			mu.Lock()
			defer mu.Unlock()
			return *n
		}
	}
	return st.start(t), read(&peak), read(&turned)
}

// counted is a connection whose end is noted.
type counted struct {
	net.Conn
	closed func()
}

func (c *counted) Close() error {
	c.closed()
	return c.Conn.Close()
}

func TestManyMachinesAreShutDownThroughABastionThatAllowsTenAtOnce(t *testing.T) {
	t.Parallel()
	const machines, limit = 24, 10
	key := newKey(t, "id", "")
	for name, start := range map[string]func(t *testing.T) (*server, func() int, func() int){
		"OpenSSH, ten sessions": func(t *testing.T) (*server, func() int, func() int) {
			s := startSSHD(t, key.authorized, nil, fmt.Sprintf("MaxSessions %d", limit))
			return s, func() int { return 0 }, func() int { return 0 }
		},
		"ten connections of any kind": func(t *testing.T) (*server, func() int, func() int) { return strictBastion(t, limit) },
	} {
		t.Run(name, func(t *testing.T) {
			b := &board{off: map[string]bool{}}
			bastion, most, refused := start(t)
			var (
				config  = []string{"Host bastion", "  User " + me(t), "  HostName 127.0.0.1", "  Port " + bastion.port}
				servers = []*server{bastion}
				stubs   []*stub
				nodes   []power.NodeRef
				mu      sync.Mutex
				orders  = map[string]int{} // by node
			)
			for i := range machines {
				node := fmt.Sprintf("node-%02d", i)
				st := &stub{exec: func(command string, req *cryptossh.Request, ch cryptossh.Channel, conn *cryptossh.ServerConn) {
					if isProbe(command) {
						exit(req, ch, 0, "")
						return
					}
					if command != locale+defaultShutdown {
						t.Errorf("%s was told %q", node, command)
					}
					mu.Lock()
					orders[node]++
					mu.Unlock()
					b.set(node, true)
					switch i % 3 { // a shutdown ends a session in several ways
					case 0:
						exit(req, ch, 0, "")
					case 1:
						_ = req.Reply(true, nil)
						conn.Close()
					case 2:
						conn.Close()
					}
				}}
				s := st.start(t)
				stubs, servers = append(stubs, st), append(servers, s)
				address := fmt.Sprintf("10.0.1.%d", i+1)
				config = append(config, "Host "+address, "  User u", "  HostName 127.0.0.1", "  Port "+s.port)
				nodes = append(nodes, power.NodeRef{Name: node, Addresses: []string{address}})
			}
			client := newClient(t, Options{Bastion: "bastion", ConfigFile: emptyConfig(t, config...), IdentityFiles: []string{key.file},
				KnownHosts: []string{knownHosts(t, servers...)}})
			api := httptest.NewServer(b)
			defer api.Close()
			b.url = api.URL
			b.http = &http.Client{Transport: &http.Transport{DialContext: client.DialContext, MaxConnsPerHost: 5, IdleConnTimeout: 50 * time.Millisecond}}
			defer b.http.CloseIdleConnections()

			journal := power.OpenJournal(t.TempDir(), power.Cluster{Name: "lab"}, "")
			defer journal.Close()
			fleet, err := power.NewFleet(power.Config{Off: DriverName, On: "board", PollInterval: 20 * time.Millisecond}, journal, NewDriver(client, DriverOptions{}), b)
			if err != nil {
				t.Fatal(err)
			}
			bindings := fleet.Resolve(soon(t), nodes)
			proven := map[string]int{}
			err = fleet.Do(context.Background(), power.ActionShutdown, bindings, func(p power.Progress) {
				if p.Stage == power.StageDone && p.Reading.State == power.Off && p.Reading.Proof == power.Proven {
					proven[p.Node]++
				}
			}, nil)
			var failed *power.ActionError
			if errors.As(err, &failed) {
				for node, why := range failed.Failed {
					t.Errorf("%s: %s", node, why)
				}
			}
			if len(proven) != machines {
				t.Errorf("%d of %d are proven to be off", len(proven), machines)
			}
			for i, st := range stubs {
				node := nodes[i].Name
				if n := st.execs.Load(); n != 1 || orders[node] != 1 || proven[node] != 1 {
					t.Errorf("%s was told %d times and is proven off %d times, want once each", node, n, proven[node])
				}
			}
			left, err := journal.LeftOff()
			if err != nil || len(left) != machines {
				t.Errorf("the journal knows %d machines to be off, %v", len(left), err)
			}
			if strings.HasPrefix(name, "ten") {
				if most() != limit || refused() == 0 {
					t.Errorf("at most %d connections at once, %d refused: the bound of %d was not put to the test", most(), refused(), limit)
				}
			} else if n := bastion.log.count("Accepted publickey"); n != 1 {
				t.Errorf("%d logins at the bastion", n)
			}
			if err := fleet.Do(context.Background(), power.ActionOn, bindings, nil, nil); err != nil || b.ons != machines {
				t.Errorf("powering on asked %d times: %v", b.ons, err)
			}
		})
	}
}
