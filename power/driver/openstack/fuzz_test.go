package openstack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lightsout/internal/text"
)

// FuzzClouds: whatever is in clouds.yaml is read or refused in one line, without
// the password.
func FuzzClouds(f *testing.F) {
	for _, s := range []string{
		"clouds:\n  mdx2:\n    region_name: R\n    auth: {auth_url: http://x/identity, username: me, password: " + password + "}\n",
		"clouds: {mdx2: {}}", "clouds: {mdx2: {verify: false, auth: {auth_url: x, password: " + password + "}}}", "clouds: [" + password, "{", "a: &a [*a]", "",
		"clouds: {mdx2: {auth: {auth_url: x, password: [" + password + "]}}}", "clouds: {mdx2: {cacert: /nowhere, cert: x, key: y, auth: {token: t, auth_url: y}}}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, yaml string) {
		path := filepath.Join(t.TempDir(), "clouds.yaml")
		if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Options{Cloud: "mdx2", CloudsFile: path}.read()
		switch {
		case err == nil && c.auth.IdentityEndpoint == "":
			t.Error("it is taken without an address")
		case err != nil && (strings.Contains(err.Error(), password) || err.Error() != text.Clean(err.Error(), 1<<16)):
			t.Errorf("%q", err)
		}
	})
}
