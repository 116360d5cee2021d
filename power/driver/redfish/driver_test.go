package redfish

import (
	"context"
	"errors"

	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lightsout/power"
	"lightsout/power/internal/fields"
	"lightsout/power/powertest"
)

var _ power.Preflighter = (*Driver)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newWorld(t *testing.T) *powertest.World {
	b := newBMC(t)
	states := map[power.State]string{power.On: "On", power.Off: "Off", power.Transitioning: "PoweringOff", power.Unknown: "Paused"}
	return &powertest.World{
		Driver:  newDriver(t, b, nil),
		Can:     power.Abilities{State: true, ProvesOff: true, On: true, Shutdown: true, Off: true},
		Machine: powertest.Lookup{Node: power.NodeRef{Name: "kube-node3"}},
		None:    &powertest.Lookup{Node: power.NodeRef{Name: "kube-node3"}, Hint: "no-such-system"},
		Twins: func() *powertest.Lookup {
			b.names["7"], b.state["7"] = "twin", "On"
			b.names["8"], b.state["8"] = "twin", "On"
			b.names["1"] = "kube-node3"
			return &powertest.Lookup{Node: power.NodeRef{Name: "twin"}}
		}(),
		Set:         func(s power.State) { b.with(func() { b.state["1"] = states[s] }) },
		Is:          func() (s power.State) { b.with(func() { s = reading(b.state["1"]).State }); return },
		States:      []power.State{power.Transitioning, power.Unknown},
		Unreachable: func() { b.Close() },
		Stall: func() func() {
			stall := make(chan struct{})
			b.with(func() { b.stall = stall })
			return func() { close(stall) }
		},
		Lose: func() {
			b.with(func() {
				b.fault = func(w http.ResponseWriter, r *http.Request, body string) bool {
					if r.Method != http.MethodPost || !strings.Contains(r.URL.Path, "Reset") {
						return false
					}
					b.with(func() { b.reset(discard{}, "1", body) })
					conn, _, err := w.(http.Hijacker).Hijack()
					if err == nil {
						conn.Close()
					}
					return true
				}
			})
		},
		Refuse: func() {
			b.with(func() {
				b.fault = func(w http.ResponseWriter, r *http.Request, body string) bool {
					complain(w, 400, "\x1b[31m\u202erefused: "+body+" "+r.Header.Get("Authorization")+" "+password)
					return true
				}
			})
		},
		Secrets: []string{password, "YWRtaW46aHVudGVyMi1wbGFudGVk"},
	}
}

// discard takes a reply that nobody gets.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

func TestContract(t *testing.T) { powertest.Run(t, newWorld) }

func TestTheResetTypeIsOneThatTheControllerAllows(t *testing.T) {
	for name, c := range map[string]struct {
		allow, info []string
		state       string
		do          func(*Driver, power.Machine) error
		post        string // empty: refused
	}{
		"told":                    {[]string{"On", "ForceOff"}, nil, "Off", onIt, "On"},
		"only ForceOn":            {[]string{"ForceOn", "ForceOff"}, nil, "Off", onIt, "ForceOn"},
		"nothing told":            {nil, nil, "On", offIt, "ForceOff"},
		"told by ActionInfo":      {nil, []string{"ForceOn"}, "Off", onIt, "ForceOn"},
		"no GracefulShutdown":     {[]string{"On", "ForceOff", "PushPowerButton"}, nil, "On", shutdownIt, ""},
		"no ForceOff, ActionInfo": {nil, []string{"On", "GracefulShutdown"}, "On", offIt, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBMC(t)
			b.allow, b.info, b.state["1"] = c.allow, c.info, c.state
			err := c.do(newDriver(t, b, nil), b.machine())
			var refused *power.RefusedError
			if c.post == "" {
				if !errors.As(err, &refused) || len(b.posts()) != 0 {
					t.Errorf("%v, after %v", err, b.posts())
				}
				return
			}
			want := []string{`POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset {"ResetType":"` + c.post + `"}`}
			if err != nil || !slices.Equal(b.posts(), want) {
				t.Errorf("%v, the controller got %v, want %v", err, b.posts(), want)
			}
		})
	}
}

func onIt(d *Driver, m power.Machine) error { return d.Switch(context.Background(), power.ActionOn, m) }
func offIt(d *Driver, m power.Machine) error {
	return d.Switch(context.Background(), power.ActionOff, m)
}
func shutdownIt(d *Driver, m power.Machine) error {
	return d.Switch(context.Background(), power.ActionShutdown, m)
}

func TestTheDriverPassesTheControllersErrorOnAndAsksOnce(t *testing.T) {
	var unconfirmed *power.UnconfirmedError
	var refused *power.RefusedError
	for code, want := range map[int]any{400: &refused, 403: &refused, 409: nil, 501: &refused, 408: &unconfirmed, 500: &unconfirmed, 503: &unconfirmed, 429: nil} {
		b := newBMC(t)
		b.fault = func(w http.ResponseWriter, r *http.Request, _ string) bool {
			if r.Method == http.MethodPost {
				complain(w, code, "The chassis is locked.")
			}
			return r.Method == http.MethodPost
		}
		err := newDriver(t, b, nil).Switch(t.Context(), power.ActionOff, b.machine())
		if err == nil || !strings.Contains(err.Error(), "The chassis is locked.") {
			t.Errorf("%d: %v", code, err)
		}
		if want != nil && !errors.As(err, want) || want == nil && (errors.As(err, &refused) || errors.As(err, &unconfirmed)) {
			t.Errorf("%d: %T %v", code, err, err)
		}
		if n := len(b.posts()); n != 1 {
			t.Errorf("%d: it was asked %d times", code, n)
		}
	}
}

func TestAWrongPasswordSaysWhereToLook(t *testing.T) {
	b := newBMC(t)
	d := newDriver(t, b, func(o *Options) { o.Password = powertest.Secret("wrong-and-planted") })
	_, err := d.State(t.Context(), b.machine())
	var refused *power.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "power.redfish") || strings.Contains(err.Error(), "planted") {
		t.Error(err)
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	b := newBMC(t)
	state := func(change func(*Options)) (power.Reading, error) {
		return newDriver(t, b, change).State(t.Context(), b.machine())
	}
	r, err := state(func(o *Options) { o.Fingerprints = nil })
	if err != nil || r.State != power.Unknown || !strings.Contains(r.Detail, "not trusted") {
		t.Errorf("an unknown certificate: %+v, %v", r, err)
	}
	if len(b.posts()) != 0 || len(b.seen) != 0 {
		t.Errorf("a password went to a stranger: %v", b.seen)
	}
	r, err = state(func(o *Options) { o.Fingerprints, o.CAFile = nil, b.certFile(t) })
	if err != nil || r.State != power.On {
		t.Errorf("its own certificate as authority: %+v, %v", r, err)
	}
	r, err = state(func(o *Options) { o.Fingerprints = []string{strings.Repeat("00", 32)} })
	if err != nil || r.State != power.Unknown {
		t.Errorf("another sum: %+v, %v", r, err)
	}
	// The certificate is good, and for somebody else.
	d := newDriver(t, b, func(o *Options) {
		o.Fingerprints, o.CAFile = nil, b.certFile(t)
		o.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, b.Listener.Addr().String())
		}
	})
	for _, host := range []string{"10.9.9.9", "bmc.invalid"} {
		m := power.Machine{ID: "https://" + host + "/redfish/v1/Systems/1"}
		if r, err := d.State(t.Context(), m); err != nil || r.State != power.Unknown {
			t.Errorf("it passed for %s: %+v, %v", host, r, err)
		}
	}
}

func TestThePasswordGoesToTheControllerAlone(t *testing.T) {
	b := newBMC(t)
	d := newDriver(t, b, nil)
	for _, id := range []string{"http://10.0.0.1/redfish/v1/Systems/1", "ftp://x/", "", "x", "https://user@host/"} {
		var refused *power.RefusedError
		if err := d.Switch(t.Context(), power.ActionOn, power.Machine{ID: id}); !errors.As(err, &refused) {
			t.Errorf("%q: %v", id, err)
		}
	}
	for ref, want := range map[string]string{
		"/a/b?c=d":                "https://bmc:1/a/b?c=d",
		"https://elsewhere/a":     "https://bmc:1/a",
		"//elsewhere/a":           "https://bmc:1/a",
		"http://elsewhere:99/a/b": "https://bmc:1/a/b",
		"relative":                "https://bmc:1/x",
		"%zz":                     "https://bmc:1/x",
	} {
		if got := resolve("https://bmc:1/x", ref); got != want {
			t.Errorf("%q leads to %s, want %s", ref, got, want)
		}
	}
}

func TestSystemsAreFoundByExactlyTheirNames(t *testing.T) {
	b := newBMC(t)
	b.state, b.names = map[string]string{"437a": "On", "5b": "Off"}, map[string]string{"437a": "kube-node1", "5b": "kube-node10"}
	find := func(change func(*Options), node, hint string) (power.Machine, error) {
		return newDriver(t, b, change).Find(t.Context(), power.NodeRef{Name: node}, hint)
	}
	at := func(id string) string { return b.URL + "/redfish/v1/Systems/" + id }
	for _, c := range []struct {
		change     func(*Options)
		node, hint string
		want       string
	}{
		{nil, "kube-node1", "", at("437a")},
		{nil, "kube-node10", "", at("5b")},
		{nil, "other", "5b", at("5b")},
		{nil, "other", "4C4C4544-0000-1000-8000-000000000005", at("5b")},
		{nil, "other", "/redfish/v1/Systems/5b/", at("5b")},
		{nil, "kube-node", "", ""},
		{func(o *Options) { o.System = "{{.Node}}0" }, "kube-node1", "", at("5b")},
		{func(o *Options) {
			o.URL, o.Nodes = "", map[string]fields.Node{"kube-node1": {BMC: b.Listener.Addr().String()}}
		}, "kube-node1", "", at("437a")},
		{func(o *Options) { o.URL = "" }, "kube-node10", b.Listener.Addr().String(), ""}, // an annotation is no controller
		{func(o *Options) { o.URL = "" }, "kube-node10", "", ""},
	} {
		m, err := find(c.change, c.node, c.hint)
		if m.ID != c.want || c.want == "" && !errors.Is(err, power.ErrNoMachine) {
			t.Errorf("%s %q: %+v, %v, want %s", c.node, c.hint, m, err, c.want)
		}
	}
}

func TestOptionsThatCantBeMeantAreRefused(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good := Options{User: user, Password: powertest.Secret(password)}
	for name, change := range map[string]func(*Options){
		"no user":        func(o *Options) { o.User = "" },
		"no password":    func(o *Options) { o.Password = nil },
		"a bad template": func(o *Options) { o.URL = "https://{{.Nod}}" },
		"a bad sum":      func(o *Options) { o.Fingerprints = []string{"abc"} },
		"no CA":          func(o *Options) { o.CAFile = "/no/such/file" },
		"an empty CA":    func(o *Options) { o.CAFile = empty },
	} {
		opt := good
		change(&opt)
		if _, err := New(opt); err == nil || !strings.Contains(err.Error(), "power.redfish") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A controller that carries a request out and answers 409 (a proxy has sent it twice) looks like one that somebody
// else has asked in between: the machine may be off because of lightsout, so the journal lists it.
func TestAMachineThatIsOffAfterAConflictMayBeOurs(t *testing.T) {
	b := newBMC(t)
	b.fault = func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "Reset") {
			b.with(func() { b.state["1"] = "Off" })
		}
		return false
	}
	if !powertest.Claims(t, newDriver(t, b, nil), power.ActionOff, b.machine()) {
		t.Error("the journal does not list it")
	}
}

// Whoever looks for machines waits for all of them, also for one whose controller accepts
// connections and never answers.
func TestAControllerThatNeverAnswersIsGivenUp(t *testing.T) {
	b := newBMC(t)
	stall := make(chan struct{})
	defer close(stall)
	b.with(func() { b.stall = stall })
	d := newDriver(t, b, nil)
	d.patience = 10 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var silent *power.SilentError
	if _, err := d.Find(ctx, power.NodeRef{Name: "n1"}, ""); ctx.Err() != nil || !errors.As(err, &silent) || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("%v", err)
	}
}
