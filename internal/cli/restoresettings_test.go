package cli

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lightsout/power"
)

// The config file that switched a machine off is gone, or somebody has edited it, and the operator uses
// that of another cluster, whose drivers call their machine "on": restore does not take that for an
// answer.
func TestRestoreAsksNoDriversOfAnotherCluster(t *testing.T) {
	for name, file := range map[string]string{"gone": "a.yaml", "edited": "lightsout.yaml"} {
		for _, both := range []bool{false, true} {
			for _, context := range []string{"", "context: site-b\n"} {
				t.Run(fmt.Sprintf("%s both %v %s", name, both, context), func(t *testing.T) { restoreElsewhere(t, file, both, context) })
			}
		}
	}
}

// restoreElsewhere restores a machine that was switched off with that config file. both: the
// kubeconfig leads to its cluster, too. context is a line of the other cluster's config.
func restoreElsewhere(t *testing.T, file string, both bool, context string) {
	o, machine := oneMachine(t)
	dir := filepath.Dir(o.File)
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	kubeconfig := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: site-b\ncontexts: [{name: site-b, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]\nusers: [{name: u, user: {}}]\n", server.URL, ca)
	text, err := os.ReadFile(o.File)
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, file), text, 0o600),
		os.WriteFile(filepath.Join(dir, "machine"), []byte("on\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRestoration(o, filepath.Join(dir, "st"), power.Cluster{Name: "site", UID: "uid-a", CA: "ca"}, filepath.Join(dir, file), nil)
	if err != nil {
		t.Fatal(err)
	}
	switchOff(t, r)
	if both {
		kubeconfig = strings.Replace(kubeconfig, "contexts: [", "contexts: [{name: site, context: {cluster: own, user: u}}, ", 1)
		kubeconfig = strings.Replace(kubeconfig, "clusters: [", fmt.Sprintf("clusters: [{name: own, cluster: {server: %q}}, ", kubeSystem(t, "uid-a")), 1)
	}
	err = errors.Join(os.RemoveAll(filepath.Join(dir, "a.yaml")), os.WriteFile(filepath.Join(dir, "none"), []byte(kubeconfig), 0o600),
		os.WriteFile(o.File, append(text, context+"ssh: {user: site-b}\n"...), 0o600),
		os.WriteFile(filepath.Join(dir, "machine"), []byte("on\n"), 0o600)) // that of the other cluster
	if err != nil {
		t.Fatal(err)
	}
	for _, context := range []string{"", "site-b"} {
		o.Context = context
		if err := restore(t.Context(), o, nil, true); err == nil || !strings.Contains(err.Error(), "n3 of cluster site") || machine() != "on" {
			t.Errorf("restore --context %q: %v", context, err)
		}
	}
	// With a config that can't be read, restore fails too.
	err = errors.Join(os.Mkdir(filepath.Join(dir, "sub"), 0o700), os.WriteFile(filepath.Join(dir, "sub", "b.yaml"), []byte("state: ../st\npower: ["), 0o600))
	broken := options{}
	broken.File, broken.State = filepath.Join(dir, "sub", "b.yaml"), filepath.Join(dir, "st")
	if err != nil || restore(t.Context(), broken, nil, true) == nil {
		t.Errorf("restore succeeds with a config that can't be read; %v", err)
	}
	j := power.OpenJournal(filepath.Join(dir, "st"), power.Cluster{}, "")
	defer j.Close()
	if left, err := j.LeftOffAll(); err != nil || len(left) != 1 {
		t.Errorf("the journal lists %+v, %v", left, err)
	}
}

// The config file that switched a machine off is the same, or has only moved: restore powers the machine
// on, whatever has become of the kubeconfig.
func TestRestoreGoesOnWithAnotherKubeconfig(t *testing.T) {
	site, siteB := kubeSystem(t, "uid-a"), kubeSystem(t, "uid-b")
	contexts := func(current string, servers map[string]string) string {
		var contexts, clusters []string
		for name, url := range servers {
			contexts = append(contexts, fmt.Sprintf("{name: %s, context: {cluster: %s, user: u}}", name, name))
			clusters = append(clusters, fmt.Sprintf("{name: %s, cluster: {server: %q}}", name, url))
		}
		return fmt.Sprintf("apiVersion: v1\nkind: Config\nusers: [{name: u, user: {}}]\ncurrent-context: %s\ncontexts: [%s]\nclusters: [%s]\n",
			current, strings.Join(contexts, ", "), strings.Join(clusters, ", "))
	}
	for name, c := range map[string]struct {
		config, kubeconfig, context string
		moved                       bool
	}{
		"another current context": {"", contexts("site-b", map[string]string{"site": site, "site-b": siteB}), "", false},
		"a kubeconfig without it": {"", contexts("site-b", map[string]string{"site-b": siteB}), "", false},
		"the flag as before":      {"context: site-b\n", contexts("site-b", map[string]string{"site": site, "site-b": siteB}), "site", false},
		"a moved file and a flag": {"", contexts("site-b", map[string]string{"site": site, "site-b": siteB}), "site", true},
	} {
		t.Run(name, func(t *testing.T) {
			o, machine := oneMachine(t)
			dir := filepath.Dir(o.File)
			text, err := os.ReadFile(o.File)
			text = append([]byte(strings.Replace(string(text), "state: st", "state: "+filepath.Join(dir, "st"), 1)), c.config...)
			err = errors.Join(err, os.WriteFile(o.File, text, 0o600), os.WriteFile(filepath.Join(dir, "machine"), []byte("on\n"), 0o600),
				os.WriteFile(filepath.Join(dir, "none"), []byte(contexts("site", map[string]string{"site": site, "site-b": siteB})), 0o600))
			if err != nil {
				t.Fatal(err)
			}
			o.Context = "site"
			r, err := newRestoration(o, filepath.Join(dir, "st"), power.Cluster{Name: "site", UID: "uid-a"}, o.File, nil)
			if err != nil {
				t.Fatal(err)
			}
			switchOff(t, r)
			if err := os.WriteFile(filepath.Join(dir, "none"), []byte(c.kubeconfig), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.moved {
				if err := os.Rename(o.File, filepath.Join(dir, "moved.yaml")); err != nil {
					t.Fatal(err)
				}
				o.File = filepath.Join(dir, "moved.yaml")
			}
			o.Context = c.context
			if err := restore(t.Context(), o, nil, true); err != nil || machine() != "on" {
				t.Errorf("the machine is %s: %v", machine(), err)
			}
		})
	}
}

// sites is a journal with n3 that was switched off in the cluster site by the config file, and a
// kubeconfig that leads to site and to site-b.
type sites struct {
	options
	dir, text string // the state folder is absolute in text, the config file's
	machine   func() string
}

func newSites(t *testing.T) *sites {
	t.Helper()
	s := &sites{}
	s.options, s.machine = oneMachine(t)
	s.dir = filepath.Dir(s.File)
	s.write(t, "none", fmt.Sprintf("apiVersion: v1\nkind: Config\nusers: [{name: u, user: {}}]\ncurrent-context: site\ncontexts: [{name: site, context: {cluster: a, user: u}}, {name: site-b, context: {cluster: b, user: u}}]\nclusters: [{name: a, cluster: {server: %q}}, {name: b, cluster: {server: %q}}]\n",
		kubeSystem(t, "uid-a"), kubeSystem(t, "uid-b")))
	text := s.read(t, filepath.Base(s.File))
	s.text = strings.Replace(text, "state: st", "state: "+filepath.Join(s.dir, "st"), 1)
	s.write(t, filepath.Base(s.File), s.text)
	s.write(t, "machine", "on\n")
	return s
}

func (s *sites) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (s *sites) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// restoration is that of the cluster site with the config file.
func (s *sites) restoration(t *testing.T) *restoration {
	t.Helper()
	r, err := newRestoration(s.options, filepath.Join(s.dir, "st"), power.Cluster{Name: "site", UID: "uid-a"}, s.File, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// elsewhere makes site-b the current context.
func (s *sites) elsewhere(t *testing.T) {
	s.write(t, "none", strings.Replace(s.read(t, "none"), "current-context: site", "current-context: site-b", 1))
}

// The config file now is that of another cluster, and the operator names the kubeconfig or the context
// of the machine's cluster: lightsout does not take the other cluster's drivers for those of the machine.
func TestRestoreAsksNoDriversOfAnotherClusterByKubeconfig(t *testing.T) {
	for _, lost := range []bool{false, true} { // the kubeconfig that the file names
		for _, byContext := range []bool{false, true} {
			s := newSites(t)
			switchOff(t, s.restoration(t))
			s.write(t, "a.kube", s.read(t, "none"))
			if !lost {
				s.write(t, "b.kube", strings.NewReplacer("current-context: site", "current-context: site-b", "{name: site,", "{name: other,").Replace(s.read(t, "none")))
			}
			s.write(t, filepath.Base(s.File), s.text+"kubeconfig: b.kube\nssh: {user: b}\n")
			s.write(t, "machine", "on\n")
			if byContext {
				s.Context = "site"
			} else {
				s.Kubeconfig = filepath.Join(s.dir, "a.kube")
			}
			if err := restore(t.Context(), s.options, nil, true); err == nil || !strings.Contains(err.Error(), "neither polls nor switches n3") {
				t.Errorf("kubeconfig lost %v, --context %v: %v", lost, byContext, err)
			}
		}
	}
}

// Flags count for what the config file leaves open: it has changed, and names the context alone.
func TestRestoreTakesTheKubeconfigThatTheFileLeavesOpen(t *testing.T) {
	s := newSites(t)
	switchOff(t, s.restoration(t))
	s.write(t, "a.kube", s.read(t, "none"))
	s.write(t, "none", strings.Replace(s.read(t, "none"), "name: site,", "name: other,", 1)) // the usual one lacks the context
	s.write(t, filepath.Base(s.File), s.text+"context: site\nssh: {user: a}\n")
	s.Kubeconfig = filepath.Join(s.dir, "a.kube")
	if err := restore(t.Context(), s.options, nil, true); err != nil || s.machine() != "on" {
		t.Errorf("the machine is %s: %v", s.machine(), err)
	}
}

// A line of the journal is damaged. Config file and flags are as before, and the drivers are those of its
// cluster.
func TestRestoreUsesItsDriversForDamagedLines(t *testing.T) {
	s := newSites(t)
	s.write(t, filepath.Base(s.File), s.text+"context: site-b\n")
	s.Context = "site"
	switchOff(t, s.restoration(t))
	journal := filepath.Join("st", power.JournalName)
	s.write(t, journal, s.read(t, journal)+"{garbage n4\n")
	all, err := restorations(s.options)
	if err != nil || len(all) != 1 || all[0].machines.fleet == nil || len(all[0].damaged) != 1 || len(all[0].left) != 1 {
		t.Errorf("%d clusters, %v", len(all), err)
	}
	for _, r := range all {
		r.close()
	}
}

// Lines of the journal are damaged, and the config file is that of another cluster: lightsout asks
// its drivers about no machine.
func TestRestoreAsksNoDriversOfAnotherClusterAboutDamagedLines(t *testing.T) {
	s := newSites(t)
	switchOff(t, s.restoration(t))
	s.elsewhere(t)
	journal := filepath.Join("st", power.JournalName)
	s.write(t, journal, s.read(t, journal)+"{garbage n4\n")
	s.write(t, filepath.Base(s.File), s.text+"context: site-b\nssh: {user: b}\n")
	s.Context = "site"
	all, err := restorations(s.options)
	if err == nil || !strings.Contains(err.Error(), "n3 of cluster site") {
		t.Errorf("%v", err)
	}
	for _, r := range all {
		if r.machines.fleet != nil {
			t.Errorf("cluster %s has drivers; damaged %d, left %d", r.of.Name, len(r.damaged), len(r.left))
		}
		r.close()
	}
}

// The operator names the config file that has moved; at its old path is that of another cluster.
func TestRestoreUsesTheNamedFileWithTheSameSettings(t *testing.T) {
	s := newSites(t)
	switchOff(t, s.restoration(t))
	s.elsewhere(t)
	s.write(t, "moved.yaml", s.text)
	s.write(t, filepath.Base(s.File), s.text+"context: site-b\nssh: {user: b}\n")
	s.File = filepath.Join(s.dir, "moved.yaml")
	if err := restore(t.Context(), s.options, nil, true); err != nil || s.machine() != "on" {
		t.Errorf("the machine is %s: %v", s.machine(), err)
	}
}

// A cordon needs no drivers.
func TestRestoreUncordonsWithChangedSettings(t *testing.T) {
	s := newSites(t)
	r := s.restoration(t)
	if err := r.journal.Cordoned("n9", "x"); err != nil {
		t.Fatal(err)
	}
	r.close()
	s.elsewhere(t)
	s.write(t, filepath.Base(s.File), s.text+"ssh: {user: b}\n")
	if err := restore(t.Context(), s.options, nil, true); err != nil {
		t.Error(err)
	}
}

// left returns how many machines the journal lists as off.
func (s *sites) left(t *testing.T) int {
	t.Helper()
	j := power.OpenJournal(filepath.Join(s.dir, "st"), power.Cluster{}, "")
	defer j.Close()
	left, err := j.LeftOffAll()
	if err != nil {
		t.Fatal(err)
	}
	return len(left)
}

// The config file is that of site-b now, and the way to a cluster is wrong: a flag that names nothing, a
// kubeconfig that is gone or lacks the context. That proves nothing about the drivers, whose machine
// n3 is on.
func TestAWrongWayToTheClusterIsNoProof(t *testing.T) {
	for _, early := range []bool{true, false} { // an earlier version wrote the journal
		for _, c := range []struct {
			file, context, kubeconfig string
			lacks                     bool // the kubeconfig lacks the context of the machine's cluster
		}{
			{},
			{kubeconfig: "typo"},
			{context: "siet"},
			{context: "site", kubeconfig: "typo"},
			{context: "site", lacks: true},
			{file: "context: site-c\n"},
			{file: "context: site-b\nkubeconfig: gone.kube\n"},
			{file: "kubeconfig: gone.kube\n"},
			{file: "context: site\nkubeconfig: gone.kube\n", context: "site"},
		} {
			s := newSites(t)
			r := s.restoration(t)
			if early {
				r.journal.Settings = ""
			}
			switchOff(t, r)
			s.elsewhere(t)
			if c.lacks {
				s.write(t, "none", strings.Replace(s.read(t, "none"), "{name: site, context: {cluster: a, user: u}}, ", "", 1))
			}
			s.write(t, filepath.Base(s.File), s.text+c.file+"ssh: {user: b}\n")
			s.write(t, "machine", "on\n")
			s.Context = c.context
			if c.kubeconfig != "" {
				s.Kubeconfig = filepath.Join(s.dir, c.kubeconfig)
			}
			err := restore(t.Context(), s.options, nil, true)
			if err == nil || !strings.Contains(err.Error(), "neither polls nor switches n3 of cluster site") || s.left(t) != 1 {
				t.Errorf("early %v, %+v: the journal lists %d; %v", early, c, s.left(t), err)
			}
		}
	}
}

// The settings have changed, and no kubeconfig exists: lightsout names the flag with which it
// restores the machine.
func TestRestoreWithoutAKubeconfigNamesTheFlag(t *testing.T) {
	for _, context := range []string{"", "context: site\n"} {
		s := newSites(t)
		switchOff(t, s.restoration(t))
		if err := os.Remove(filepath.Join(s.dir, "none")); err != nil {
			t.Fatal(err)
		}
		s.write(t, filepath.Base(s.File), s.text+context+"ssh: {user: a}\n")
		err := restore(t.Context(), s.options, nil, true)
		if err == nil || !strings.Contains(err.Error(), "add --context site") || s.machine() != "off" {
			t.Errorf("%q: the machine is %s: %v", context, s.machine(), err)
		}
		s.Context = "site"
		if err := restore(t.Context(), s.options, nil, true); err != nil || s.machine() != "on" {
			t.Errorf("%q: the machine is %s: %v", context, s.machine(), err)
		}
	}
}

// The drivers' settings are those that switched the machine off: lightsout powers it on, whatever the way
// to a cluster is.
func TestRestoreWithTheSameSettingsNeedsNoWayToTheCluster(t *testing.T) {
	for _, c := range []struct{ file, context, kubeconfig string }{
		{kubeconfig: "typo"}, {context: "siet"}, {context: "site", kubeconfig: "typo"}, {file: "context: site-c\n"}, {file: "kubeconfig: gone.kube\n"},
	} {
		s := newSites(t)
		switchOff(t, s.restoration(t))
		s.write(t, filepath.Base(s.File), s.text+c.file)
		s.Context = c.context
		if c.kubeconfig != "" {
			s.Kubeconfig = filepath.Join(s.dir, c.kubeconfig)
		}
		err := restore(t.Context(), s.options, nil, true)
		if s.machine() != "on" || s.left(t) != 0 {
			t.Errorf("%+v: the machine is %s, and the journal lists %d: %v", c, s.machine(), s.left(t), err)
		}
	}
}
