package openstack

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"go.uber.org/goleak"

	"lightsout/power"
	"lightsout/power/powertest"
)

var _ power.BulkDriver = (*Driver)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	powertest.Run(t, func(t *testing.T) *powertest.World {
		c := newCloud(t)
		s := c.servers[0]
		return &powertest.World{
			Driver:  newDriver(t, c),
			Can:     power.Abilities{State: true, ProvesOff: true, On: true, Shutdown: true},
			Machine: powertest.Lookup{Node: power.NodeRef{Name: "kube-node3"}},
			None:    &powertest.Lookup{Node: power.NodeRef{Name: "kube-node", Addresses: []string{"10.0.0.1"}}},
			Twins:   &powertest.Lookup{Node: power.NodeRef{Name: "twin"}},
			Set: func(state power.State) {
				c.with(func() {
					s.task = ""
					switch state {
					case power.On:
						s.status, s.power = "ACTIVE", 1
					case power.Off:
						s.status, s.power = "SHUTOFF", 4
					case power.Transitioning:
						s.status, s.power, s.task = "ACTIVE", 1, "powering-off"
					default:
						s.status, s.power = "SHELVED_OFFLOADED", 4
					}
				})
			},
			Is: func() (state power.State) {
				c.with(func() { state = map[string]power.State{"ACTIVE": power.On, "SHUTOFF": power.Off}[s.status] })
				return
			},
			States: []power.State{power.Transitioning, power.Unknown},
			Gone:   func() { c.Close() },
			Stall: func() func() {
				stall := make(chan struct{})
				c.with(func() { c.stall = stall })
				return func() { close(stall) }
			},
			Lose: func() {
				c.with(func() {
					c.fault = func(w http.ResponseWriter, r *http.Request, body string) bool {
						if !strings.HasSuffix(r.URL.Path, "/action") {
							return false
						}
						if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
							conn.Close()
						}
						return true
					}
				})
			},
			Refuse: func() {
				c.with(func() {
					c.fault = func(w http.ResponseWriter, r *http.Request, body string) bool {
						complain(w, 403, "forbidden", "\x1b[31m\u202epolicy: "+body+r.Header.Get("X-Auth-Token")+" "+password)
						return true
					}
				})
			},
			Secrets: []string{password, token},
		}
	})
}

func TestServersAreFoundByExactlyOne(t *testing.T) {
	c := newCloud(t)
	d := newDriver(t, c)
	for _, l := range []struct {
		node power.NodeRef
		hint string
		id   string
		how  string
	}{
		{power.NodeRef{Name: "x", ProviderID: "openstack:///" + uuid4}, "", uuid4, power.HowProviderID},
		{power.NodeRef{Name: "x", ProviderID: "openstack://RegionOne/" + uuid4}, "", uuid4, power.HowProviderID},
		{power.NodeRef{Name: "x", ProviderID: "aws:///" + uuid4}, "", "", ""},
		{power.NodeRef{Name: "x", Addresses: []string{"10.0.0.13"}}, "", uuid3, power.HowAddress},
		{power.NodeRef{Name: "x", Addresses: []string{"fd00:0::5"}}, "", "0f2f9a3e-7e5c-4d6e-9a55-000000000005", power.HowAddress},
		{power.NodeRef{Name: "x", Addresses: []string{"10.0.0.1"}}, "", "", ""}, // and not 10.0.0.13
		{power.NodeRef{Name: "kube-node3"}, "", uuid3, power.HowName},
		{power.NodeRef{Name: "kube-node3"}, uuid4, uuid4, ""},
		{power.NodeRef{Name: "kube-node3"}, "gone", "", ""},
	} {
		m, err := d.Find(t.Context(), l.node, l.hint)
		if m.ID != l.id || m.How != l.how || l.id == "" && !errors.Is(err, power.ErrNoMachine) {
			t.Errorf("%+v %q: %+v, %v", l.node, l.hint, m, err)
		}
	}
}

func TestManyServersTakeOneList(t *testing.T) {
	c := newCloud(t)
	d := newDriver(t, c)
	got, err := d.States(t.Context(), []power.Machine{machine("gone"), machine("0f2f9a3e-7e5c-4d6e-9a55-000000000005"), machine(uuid3)})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []power.State{power.Unknown, power.Off, power.On} {
		if got[i].State != want || got[i].Detail == "" {
			t.Errorf("%d: %+v", i, got[i])
		}
	}
	c.with(func() {
		if n := len(slices.DeleteFunc(slices.Clone(c.seen), func(s string) bool { return !strings.Contains(s, "servers/detail") })); n != 2 {
			t.Errorf("%d pages were read, want 2: %v", n, c.seen)
		}
	})
}

func TestATokenThatRanOutIsRenewed(t *testing.T) {
	c := newCloud(t)
	d := newDriver(t, c)
	if _, err := d.State(t.Context(), machine(uuid3)); err != nil {
		t.Fatal(err)
	}
	c.with(func() { clear(c.valid) })
	if err := d.Switch(t.Context(), power.ActionShutdown, machine(uuid3)); err != nil {
		t.Fatal(err)
	}
	c.with(func() {
		if c.issued != 2 || c.servers[0].status != "SHUTOFF" {
			t.Errorf("%d tokens, the server is %s", c.issued, c.servers[0].status)
		}
	})
}

func TestFaultsOfPowerRequestsAreNeverRepeated(t *testing.T) {
	var unconfirmed *power.UnconfirmedError
	var refused *power.RefusedError
	for code, want := range map[int]any{408: &unconfirmed, 500: &unconfirmed, 503: &unconfirmed, 403: &refused, 400: &refused, 409: nil, 429: nil} {
		c := newCloud(t)
		c.fault = func(w http.ResponseWriter, r *http.Request, _ string) bool {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/action") {
				complain(w, code, "kind", "the reason for it")
				return true
			}
			return false
		}
		err := newDriver(t, c).Switch(t.Context(), power.ActionShutdown, machine(uuid3))
		if err == nil || !strings.Contains(err.Error(), "the reason for it") {
			t.Errorf("%d: %v", code, err)
		}
		if want != nil && !errors.As(err, want) || want == nil && (errors.As(err, &refused) || errors.As(err, &unconfirmed)) {
			t.Errorf("%d: %T %v", code, err, err)
		}
		if n := len(c.posts()); n != 1 {
			t.Errorf("%d: it was asked %d times", code, n)
		}
	}
}

func TestLightsoutReportsUnusableCredentials(t *testing.T) {
	c := newCloud(t)
	for _, name := range []string{"OS_CLOUD", "OS_AUTH_URL", "OS_USERNAME", "OS_PASSWORD", "OS_CLIENT_CONFIG_FILE", "OS_APPLICATION_CREDENTIAL_ID"} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	good := c.cloudsFile(t)
	broken := filepath.Join(t.TempDir(), "clouds.yaml")
	if err := os.WriteFile(broken, []byte("clouds:\n  mdx2: {auth: ["+password+"]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]struct {
		opt  Options
		want string
	}{
		"no such cloud":    {Options{Cloud: "mdx9", CloudsFile: good}, "mdx9"},
		"no auth":          {Options{Cloud: "bare", CloudsFile: good}, "auth"},
		"no verification":  {Options{Cloud: "open", CloudsFile: good}, "cacert"},
		"no such file":     {Options{Cloud: "mdx2", CloudsFile: "/no/clouds.yaml"}, "can't be read"},
		"a broken file":    {Options{Cloud: "mdx2", CloudsFile: broken}, "mdx2"},
		"nothing at all":   {Options{}, "power.openstack"},
		"no file anywhere": {Options{Cloud: "mdx2"}, "clouds_file"},
	} {
		d, err := New(l.opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.Close)
		_, err = d.State(t.Context(), machine(uuid3))
		if err == nil || !strings.Contains(err.Error(), l.want) || strings.Contains(err.Error(), password) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheEnvironmentWillDo(t *testing.T) {
	c := newCloud(t)
	for name, value := range map[string]string{
		"OS_CLOUD": "", "OS_AUTH_URL": c.URL + "/identity/v3", "OS_USERNAME": "me", "OS_PASSWORD": password,
		"OS_PROJECT_NAME": "p", "OS_DOMAIN_NAME": "Default", "OS_REGION_NAME": "RegionOne", "OS_CACERT": "",
	} {
		t.Setenv(name, value)
	}
	d, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	if r, err := d.State(t.Context(), machine(uuid3)); err != nil || r.State != power.On {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestStatusesAreStates(t *testing.T) {
	for status, want := range map[string]power.State{
		"ACTIVE": power.On, "SHUTOFF": power.Off, "BUILD": power.Transitioning, "REBOOT": power.Transitioning, "HARD_REBOOT": power.Transitioning,
		"PAUSED": power.Unknown, "SUSPENDED": power.Unknown, "SHELVED": power.Unknown, "SHELVED_OFFLOADED": power.Unknown, "ERROR": power.Unknown,
		"DELETED": power.Unknown, "RESCUE": power.Unknown, "UNKNOWN": power.Unknown, "": power.Unknown, "\x1b[31mshutoff": power.Unknown,
	} {
		got := reading(servers.Server{Status: status})
		if got.State != want || got.Detail == "" || (want == power.Unknown) != (got.Proof == power.ProofNone) || got.Detail != power.Clean(got.Detail) {
			t.Errorf("%q is %+v, want %s", status, got, want)
		}
	}
	for _, s := range []servers.Server{
		{Status: "SHUTOFF", TaskState: "powering-on"}, {Status: "ACTIVE", TaskState: "powering-off"}, {Status: "ACTIVE", PowerState: servers.SHUTDOWN},
	} {
		if got := reading(s); got.State != power.Transitioning {
			t.Errorf("%s, %s, %v is %+v", s.Status, s.TaskState, s.PowerState, got)
		}
	}
}
