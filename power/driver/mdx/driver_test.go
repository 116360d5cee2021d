package mdx

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"lightsout/power"
	"lightsout/power/powertest"
)

var ctx = context.Background()

func TestStatusesAreStates(t *testing.T) {
	for status, want := range map[string]power.Reading{
		"PowerON":     {State: power.On, Proof: power.Proven, Detail: "PowerON"},
		"PowerOFF":    {State: power.Off, Proof: power.Proven, Detail: "PowerOFF"},
		"Deallocated": {State: power.Off, Proof: power.Proven, Detail: "Deallocated"},
		"Deploying":   {State: power.Transitioning, Proof: power.Proven, Detail: "Deploying"},
		"Suspended":   {State: power.Unknown, Detail: "Suspended, by the platform"},
		"Detached":    {State: power.Unknown, Detail: "Detached"},
		"NotFound":    {State: power.Unknown, Detail: "NotFound"},
		"\x1b[31mNew": {State: power.Unknown, Detail: "New"},
		"":            {State: power.Unknown, Detail: "the portal reports no status"},
	} {
		p := newPortal(t, &portalVM{uuid: "uuid-1", name: "n", status: status})
		d := newDriver(t, p, "llm")
		one, err := d.State(ctx, machine("uuid-1"))
		if err != nil {
			t.Fatal(err)
		}
		many, err := d.States(ctx, []power.Machine{machine("gone"), machine("uuid-1")})
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []power.Reading{one, many[1]} {
			got.RequestedAt, got.Arrived = time.Time{}, time.Time{}
			if got != want {
				t.Errorf("%q is %+v, want %+v", status, got, want)
			}
		}
		if many[0].State != power.Unknown {
			t.Errorf("a VM that is not there is %+v", many[0])
		}
	}
}

func TestAVMThatIsNotThereIsUnknown(t *testing.T) {
	d := newDriver(t, newPortal(t, fourVMs()...), "llm")
	if r, err := d.State(ctx, machine("gone")); err != nil || r.State != power.Unknown {
		t.Errorf("%+v, %v", r, err)
	}
	var refused *power.RefusedError
	if err := d.Switch(ctx, power.ActionOn, machine("gone")); !errors.As(err, &refused) {
		t.Errorf("powering it on: %v", err)
	}
}

func TestActionsAreIdempotentAndKeepTheServiceLevel(t *testing.T) {
	p := newPortal(t, fourVMs()...)
	d := newDriver(t, p, "llm")
	spot := machine("uuid-1")
	spot.Params = map[string]string{power.ParamServiceLevel: levelSpot}
	steps := []struct {
		do   power.Action
		m    power.Machine
		post string // empty: nothing is to be sent
	}{
		{power.ActionOn, machine("uuid-1"), ""},
		{power.ActionShutdown, machine("uuid-1"), "POST /api/vm/uuid-1/shutdown/"},
		{power.ActionShutdown, machine("uuid-1"), ""},
		{power.ActionOff, machine("uuid-1"), ""},
		{power.ActionOn, machine("uuid-1"), "POST /api/vm/uuid-1/power_on/ guarantee"},
		{power.ActionOff, machine("uuid-1"), "POST /api/vm/uuid-1/power_off/"},
		{power.ActionOn, spot, "POST /api/vm/uuid-1/power_on/ spot"},
	}
	var want []string
	for i, s := range steps {
		if err := d.Switch(ctx, s.do, s.m); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if s.post != "" {
			want = append(want, s.post)
		}
		if got := p.posts(); !reflect.DeepEqual(got, want) {
			t.Fatalf("step %d: the portal got %v, want %v", i, got, want)
		}
	}
}

func TestOtherStatesAndLevelsAreRefused(t *testing.T) {
	p := newPortal(t, &portalVM{uuid: "s", status: "Suspended"}, &portalVM{uuid: "d", status: "Deploying"}, &portalVM{uuid: "o", status: "PowerOFF"})
	d := newDriver(t, p, "llm")
	var refused *power.RefusedError
	if err := d.Switch(ctx, power.ActionOn, machine("s")); !errors.As(err, &refused) || !strings.Contains(err.Error(), "Suspended") {
		t.Errorf("a suspended VM: %v", err)
	}
	if err := d.Switch(ctx, power.ActionOn, machine("d")); err == nil || errors.As(err, &refused) {
		t.Errorf("a VM that is being deployed can be asked again later, got %v", err)
	}
	m := machine("o")
	m.Params[power.ParamServiceLevel] = "gold"
	if err := d.Switch(ctx, power.ActionOn, m); !errors.As(err, &refused) || !strings.Contains(err.Error(), "service_level") {
		t.Errorf("an unknown level: %v", err)
	}
	if got := p.posts(); len(got) != 0 {
		t.Errorf("the portal got %v", got)
	}
}

func TestARefusedTokenIsRenewedOnceForAll(t *testing.T) {
	p := newPortal(t, fourVMs()...)
	p.valid = map[string]bool{}
	d := newDriver(t, p, "llm")
	errs := make(chan error)
	for i := range 20 {
		go func() {
			_, err := d.State(ctx, machine(fmt.Sprintf("uuid-%d", i%4+1)))
			errs <- err
		}()
	}
	for range 20 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	p.with(func() {
		if p.issued != 1 {
			t.Errorf("the token was renewed %d times", p.issued)
		}
		if p.most > parallel {
			t.Errorf("%d requests at once, at most %d may be", p.most, parallel)
		}
	})
	// A power request that was answered 401 was not carried out: it is sent again.
	p.with(func() { p.valid = map[string]bool{} })
	if err := d.Switch(ctx, power.ActionShutdown, machine("uuid-1")); err != nil {
		t.Error(err)
	}
}

func TestANewTokenInTheFileIsTakenBeforeRenewing(t *testing.T) {
	p := newPortal(t, fourVMs()...)
	p.valid = map[string]bool{"eyJ.first": true}
	path := tokenFile(t, "eyJ.first")
	d := newDriver(t, p, "llm")
	d.tokens.source = func() (string, error) { b, err := os.ReadFile(path); return string(b), err }
	if _, err := d.projectUUID(ctx); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("eyJ.second"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.with(func() { p.valid = map[string]bool{"eyJ.second": true} })
	if _, err := d.State(ctx, machine("uuid-1")); err != nil {
		t.Error(err)
	}
	p.with(func() {
		if p.issued != 0 {
			t.Error("the old token was renewed although there was a new one")
		}
	})
}

func TestTheErrorOfAWrongTokenNamesTheNextStep(t *testing.T) {
	p := newPortal(t, fourVMs()...)
	p.valid = map[string]bool{}
	p.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/api/refresh/" {
			http.Error(w, `{"detail":"expired"}`, 400)
			return true
		}
		return false
	}
	d := newDriver(t, p, "llm")
	_, err := d.projectUUID(ctx)
	var refused *power.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "issue a new one") {
		t.Errorf("got %v", err)
	}
}

func TestFaultsOfReads(t *testing.T) {
	cases := map[string]struct {
		code  int
		times int // how often the portal misbehaves
		ok    bool
	}{
		"429 and then well": {429, 2, true},
		"500 and then well": {500, 3, true},
		"500 for ever":      {500, 1000, false},
		"403":               {403, 1000, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPortal(t, fourVMs()...)
			left := c.times
			p.fault = func(w http.ResponseWriter, r *http.Request) bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				if left--; left < 0 {
					return false
				}
				http.Error(w, "<html>busy</html>", c.code)
				return true
			}
			d := newDriver(t, p, "llm")
			r, err := d.State(ctx, machine("uuid-1"))
			if (err == nil) != c.ok || (c.ok && r.State != power.On) {
				t.Errorf("%+v, %v", r, err)
			}
			if !c.ok && !strings.Contains(err.Error(), fmt.Sprint(c.code)) {
				t.Errorf("the status is not in %q", err)
			}
		})
	}
}

func TestAVMIsFoundByExactlyOneMatch(t *testing.T) {
	vms := fourVMs()
	vms = append(vms,
		&portalVM{uuid: "uuid-5", name: "twin", status: "PowerON"}, &portalVM{uuid: "uuid-6", name: "twin", status: "PowerON"},
		&portalVM{uuid: "uuid-7", name: "short", status: "PowerON", ipv4: []string{"10.0.0.1"}, level: "起動保証仮想マシン"})
	d := newDriver(t, newPortal(t, vms...), projectID)
	cases := []struct {
		node     power.NodeRef
		hint     string
		id, how  string
		level    string
		from     string
		ambigous bool
	}{
		{node: power.NodeRef{Name: "x", Addresses: []string{"10.0.0.13"}}, id: "uuid-3", how: "address", level: "spot", from: "portal"},
		{node: power.NodeRef{Name: "x", Addresses: []string{"10.0.0.1"}}, id: "uuid-7", how: "address", level: "guarantee", from: "portal"},
		{node: power.NodeRef{Name: "kube-node2"}, id: "uuid-2", how: "name", level: "spot", from: "portal"},
		{node: power.NodeRef{Name: "kube-node2", Addresses: []string{"10.0.0.13"}}, id: "uuid-3", how: "address", level: "spot", from: "portal"},
		{node: power.NodeRef{Name: "kube-node2", ProviderID: "mdx:///UUID-4"}, id: "uuid-4", how: "providerID", level: "spot", from: "portal"},
		{node: power.NodeRef{Name: "x"}, hint: "uuid-1", id: "uuid-1", level: "spot", from: "portal"},
		{node: power.NodeRef{Name: "kube-node2"}, hint: "kube-node1", id: "uuid-1", level: "spot", from: "portal"},
		{node: power.NodeRef{Name: "kube-node2"}, hint: "kube-node9"},
		{node: power.NodeRef{Name: "kube-node"}},
		{node: power.NodeRef{Name: "kube-node2.example.com"}},
		{node: power.NodeRef{Name: "twin"}, ambigous: true},
		{node: power.NodeRef{Name: "x"}, hint: "twin", ambigous: true},
	}
	for _, c := range cases {
		m, err := d.Find(ctx, c.node, c.hint)
		var ambiguous *power.AmbiguousError
		switch {
		case c.ambigous:
			if !errors.As(err, &ambiguous) || len(ambiguous.Matches) != 2 {
				t.Errorf("%+v %q: %v", c.node, c.hint, err)
			}
		case c.id == "":
			if !errors.Is(err, power.ErrNoMachine) {
				t.Errorf("%+v %q: %+v, %v", c.node, c.hint, m, err)
			}
		case err != nil || m.ID != c.id || m.How != c.how:
			t.Errorf("%+v %q: %+v, %v; want %s by %q", c.node, c.hint, m, err, c.id, c.how)
		case m.Params[power.ParamServiceLevel] != c.level || m.Params[power.ParamServiceLevelFrom] != c.from:
			t.Errorf("%s: level %v, want %s from %s", m.ID, m.Params, c.level, c.from)
		}
	}
	if _, err := d.Find(ctx, power.NodeRef{Name: "twin"}, ""); err == nil {
		t.Error("no error")
	}
}

func TestAnUnknownServiceLevelIsAssumedAndMarked(t *testing.T) {
	d := newDriver(t, newPortal(t, &portalVM{uuid: "u", name: "n", status: "PowerON", level: "新しい"}), "llm")
	m, err := d.Find(ctx, power.NodeRef{Name: "n"}, "")
	if err != nil || m.Params[power.ParamServiceLevel] != "spot" || m.Params[power.ParamServiceLevelFrom] != power.ServiceLevelAssumed {
		t.Errorf("%+v, %v", m, err)
	}
	d.nodes = map[string]Node{"n": {ServiceLevel: levelGuarantee}}
	m, err = d.Find(ctx, power.NodeRef{Name: "n"}, "")
	if err != nil || m.Params[power.ParamServiceLevel] != "guarantee" || m.Params[power.ParamServiceLevelFrom] != "config" {
		t.Errorf("%+v, %v", m, err)
	}
	d.nodes = nil // the level of an earlier configuration counts no more
	if m, err = d.Ready("n", m); err != nil || m.Params[power.ParamServiceLevel] != "" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestTheProjectIsFoundByNameOrUUID(t *testing.T) {
	p := newPortal(t, fourVMs()...)
	for project, want := range map[string]string{
		"llm": "", projectID: "", "lllm": "has llm, others", "": "2 projects",
	} {
		_, err := newDriver(t, p, project).projectUUID(ctx)
		if (want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", project, err, want)
		}
	}
}

func TestTheDriverSendsNoInvalidToken(t *testing.T) {
	for given, bad := range map[string]string{" " + secretToken + "\n": "", "": "issue one", "two " + secretToken: "issue one", "a\nb": "issue one"} {
		d := newDriver(t, newPortal(t, fourVMs()...), "llm")
		d.tokens.source = powertest.Secret(given)
		_, err := d.projectUUID(ctx)
		if bad == "" && err != nil || bad != "" && (err == nil || !strings.Contains(err.Error(), bad) || strings.Contains(err.Error(), "planted")) {
			t.Errorf("%q: %v, want %q", given, err, bad)
		}
	}
}

func TestBadOptions(t *testing.T) {
	token := func() (string, error) { return secretToken, nil }
	for _, u := range []string{"oprpl.mdx.jp", "ftp://x", "https://", "https://user:pw@host", "https://h/?q", "://"} {
		if _, err := New(Options{URL: u, Token: token}); err == nil || !strings.Contains(err.Error(), "power.mdx.url") || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %v", u, err)
		}
	}
	if _, err := New(Options{URL: "https://h"}); err == nil {
		t.Error("no token: no error")
	}
}
