package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"lightsout/power"
	"lightsout/power/driver/exec"
	"lightsout/power/driver/fence"
	"lightsout/power/driver/ipmi"
	"lightsout/power/driver/mdx"
	"lightsout/power/driver/openstack"
	"lightsout/power/driver/redfish"
	"lightsout/power/driver/vagrant"
	"lightsout/power/driver/wol"
	"lightsout/power/ssh"
)

// Power says how machines are switched: each group of fields beside the
// first two is one driver. Not "on" and "off": YAML 1.1 reads those keys as
// booleans.
type Power struct {
	Off       string                `json:"off_by,omitempty"`
	On        string                `json:"on_by,omitempty"`
	MDX       *mdxConfig            `json:"mdx,omitempty"`
	Fence     *fenceConfig          `json:"fence,omitempty"`
	Exec      *execConfig           `json:"exec,omitempty"`
	WOL       *wolConfig            `json:"wol,omitempty"`
	Vagrant   *vagrantConfig        `json:"vagrant,omitempty"`
	Redfish   *redfishConfig        `json:"redfish,omitempty"`
	IPMI      *ipmiConfig           `json:"ipmi,omitempty"`
	OpenStack *openstackConfig      `json:"openstack,omitempty"`
	Nodes     map[string]nodeConfig `json:"nodes,omitempty"`
}

type mdxConfig struct {
	URL        string `json:"url,omitempty"`
	Project    string `json:"project,omitempty"`
	TokenFile  string `json:"token_file,omitempty"`
	TokenEnv   string `json:"token_env,omitempty"`
	ViaBastion bool   `json:"via_bastion,omitempty"`
}

type fenceConfig struct {
	Agent   string                  `json:"agent,omitempty"`
	Params  map[string]scalar       `json:"params,omitempty"`
	Secrets map[string]secretConfig `json:"secrets,omitempty"`
}

type execConfig struct {
	State     []string `json:"state_command,omitempty"`
	On        []string `json:"on_command,omitempty"`
	Off       []string `json:"off_command,omitempty"`
	Shutdown  []string `json:"shutdown_command,omitempty"`
	ProvesOff bool     `json:"proves_off,omitempty"`
	SecretEnv []string `json:"secret_env,omitempty"`
}

type wolConfig struct {
	Broadcast    string `json:"broadcast,omitempty"`
	PasswordFile string `json:"password_file,omitempty"`
	PasswordEnv  string `json:"password_env,omitempty"`
}

type vagrantConfig struct {
	Dir     string   `json:"dir,omitempty"`
	Command []string `json:"command,omitempty"`
}

type redfishConfig struct {
	URL          string   `json:"url,omitempty"`
	System       string   `json:"system,omitempty"`
	User         string   `json:"user,omitempty"`
	PasswordFile string   `json:"password_file,omitempty"`
	PasswordEnv  string   `json:"password_env,omitempty"`
	Auth         string   `json:"auth,omitempty"`
	CAFile       string   `json:"ca_file,omitempty"`
	CertSHA256   []string `json:"cert_sha256,omitempty"`
	ViaBastion   bool     `json:"via_bastion,omitempty"`
}

type ipmiConfig struct {
	Address      string `json:"address,omitempty"`
	User         string `json:"user,omitempty"`
	PasswordFile string `json:"password_file,omitempty"`
	PasswordEnv  string `json:"password_env,omitempty"`
}

type openstackConfig struct {
	Cloud      string `json:"cloud,omitempty"`
	CloudsFile string `json:"clouds_file,omitempty"`
	Region     string `json:"region,omitempty"`
	ViaBastion bool   `json:"via_bastion,omitempty"`
}

// secretConfig is where a secret is kept.
type secretConfig struct {
	File string `json:"file,omitempty"`
	Env  string `json:"env,omitempty"`
}

type nodeConfig struct {
	Machine      string            `json:"machine,omitempty"`
	Address      string            `json:"address,omitempty"`
	ServiceLevel string            `json:"service_level,omitempty"`
	Off          string            `json:"off_by,omitempty"`
	On           string            `json:"on_by,omitempty"`
	MAC          string            `json:"mac,omitempty"`
	BMC          string            `json:"bmc,omitempty"`
	Plug         scalar            `json:"plug,omitempty"`
	Params       map[string]scalar `json:"params,omitempty"`
}

// scalar is a text that may be written as a number or as true or false.
type scalar string

// UnmarshalJSON takes one value.
func (s *scalar) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, (*string)(s))
	case '{', '[':
		return json.Unmarshal(data, (*string)(s)) // the usual complaint
	case 'n':
		return nil
	}
	*s = scalar(data)
	return nil
}

func texts(m map[string]scalar) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = string(v)
	}
	return out
}

// driverNames are all power drivers, in the order in which they are told.
var driverNames = []string{
	ssh.DriverName, mdx.DriverName, fence.DriverName, redfish.DriverName, ipmi.DriverName,
	openstack.DriverName, vagrant.DriverName, wol.DriverName, exec.DriverName,
}

// sides says what a driver is good for: switching off, on. Exec can do what it
// has commands for.
func (p *Power) sides(driver string) (off, on bool) {
	switch driver {
	case ssh.DriverName:
		return true, false
	case wol.DriverName:
		return false, true
	case exec.DriverName:
		return p.Exec != nil && (p.Exec.Off != nil || p.Exec.Shutdown != nil), p.Exec != nil && p.Exec.On != nil
	}
	return true, true
}

// needs says what is missing for a driver to be built, or is empty.
func (p *Power) needs(driver string) string {
	switch {
	case driver == mdx.DriverName && p.MDX == nil:
		return "power.mdx is missing: it needs at least project and token_file or token_env"
	case driver == fence.DriverName && p.Fence == nil:
		return "power.fence is missing: it needs at least agent"
	case driver == redfish.DriverName && p.Redfish == nil:
		return "power.redfish is missing: it needs at least user and password_file or password_env"
	case driver == ipmi.DriverName && p.IPMI == nil:
		return "power.ipmi is missing: it needs at least user and password_file or password_env"
	case driver == exec.DriverName && p.Exec == nil:
		return "power.exec is missing: it needs at least on_command, off_command or shutdown_command"
	}
	return "" // the others can do without
}

// named tells every place that names a driver: "power.off_by", and those of nodes.
func (p *Power) named(tell func(field, driver string, on bool) error) error {
	if err := tell("power.off_by", p.Off, false); err != nil {
		return err
	}
	if err := tell("power.on_by", p.On, true); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Nodes)) {
		n := p.Nodes[name]
		name = power.Clean(name)
		if err := tell("power.nodes."+name+".off_by", n.Off, false); err != nil {
			return err
		}
		if err := tell("power.nodes."+name+".on_by", n.On, true); err != nil {
			return err
		}
	}
	return nil
}

// uses reports whether a driver is named anywhere.
func (p *Power) uses(driver string) bool {
	used := false
	_ = p.named(func(_, d string, _ bool) error {
		used = used || d == driver
		return nil
	})
	return used
}

// check finds contradictions that the types allow; fail makes the error, with
// the line of a field.
func (p *Power) check(fail func(field, format string, args ...any) error) error {
	err := p.named(func(field, driver string, on bool) error {
		if driver == "" {
			return nil
		}
		if !slices.Contains(driverNames, driver) {
			return fail(field, "%s: there is no power driver %q; there are %s", field, power.Clean(driver), strings.Join(driverNames, ", "))
		}
		if missing := p.needs(driver); missing != "" {
			return fail("power", "%s", missing)
		}
		switch canOff, canOn := p.sides(driver); {
		case on && !canOn:
			return fail(field, "%s can't power on; set %s to another driver", driver, field)
		case !on && !canOff:
			return fail(field, "%s can't switch off; set %s to another driver", driver, field)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if m := p.MDX; m != nil {
		if err := either("the portal's token", "token", m.TokenFile, m.TokenEnv, false); err != nil {
			return fail("token_env", "%w", err)
		}
		if u, err := url.Parse(m.URL); m.URL != "" && (err != nil || u.Host == "") {
			return fail("url", "power.mdx.url is no URL: %q", m.URL)
		}
	}
	if f := p.Fence; f != nil {
		for _, name := range slices.Sorted(maps.Keys(f.Secrets)) {
			s := f.Secrets[name]
			if (s.File == "") == (s.Env == "") {
				return fail(name, "power.fence.secrets.%s needs file or env, and not both", name)
			}
		}
	}
	if w := p.WOL; w != nil {
		if err := either("the password of power.wol", "password", w.PasswordFile, w.PasswordEnv, false); err != nil {
			return fail("password_env", "%w", err)
		}
	}
	if r := p.Redfish; r != nil {
		if err := either("the password of power.redfish", "password", r.PasswordFile, r.PasswordEnv, true); err != nil {
			return fail("redfish", "%w", err)
		}
		if r.Auth != "" && r.Auth != "basic" && r.Auth != "session" {
			return fail("auth", "power.redfish.auth is basic or session, and not %q", power.Clean(r.Auth))
		}
	}
	if i := p.IPMI; i != nil {
		if err := either("the password of power.ipmi", "password", i.PasswordFile, i.PasswordEnv, true); err != nil {
			return fail("ipmi", "%w", err)
		}
	}
	// What the drivers themselves make of it; files are not read yet.
	for _, name := range driverNames {
		d, err := p.build(name, partsForCheck)
		if err != nil {
			return fail(fieldIn(err.Error()), "%s", power.Clean(err.Error()))
		}
		if d != nil {
			Close(d)
		}
	}
	return nil
}

// either checks that a secret is given in one place.
func either(what, field, file, env string, must bool) error {
	switch {
	case file != "" && env != "":
		return fmt.Errorf("give %s by %s_file or %s_env, not both", what, field, field)
	case must && file == "" && env == "":
		return fmt.Errorf("%s is missing: give %s_file or %s_env", what, field, field)
	}
	return nil
}

// fieldIn gives the field that an error begins with: "power.fence.agent is …".
func fieldIn(text string) string {
	path, _, _ := strings.Cut(text, " ")
	path = strings.TrimSuffix(path, ":")
	if !strings.HasPrefix(path, "power.") {
		return "power"
	}
	return path
}
