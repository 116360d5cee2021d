package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/power"
)

// switchedOffByAnother sets up a machine that another operator of this host has
// switched off: its note is in the host's register, and no kubeconfig leads to its
// cluster. machine reads its power state.
func switchedOffByAnother(t *testing.T) (o options, machine func() string) {
	t.Helper()
	dir := t.TempDir()
	host := hostDir
	hostDir = filepath.Join(dir, "locks")
	t.Cleanup(func() { hostDir = host })
	home := clientcmd.RecommendedHomeFile
	clientcmd.RecommendedHomeFile = filepath.Join(dir, "none")
	t.Cleanup(func() { clientcmd.RecommendedHomeFile = home })
	t.Setenv("KUBECONFIG", "")
	note, err := json.Marshal(power.Registered{
		NodeNote: power.NodeNote{Node: "n3", Note: power.Note{By: "tanaka@jump-7", Journal: "theirs", At: time.Now().Add(-time.Hour), Back: "lightsout restore --state /theirs"}},
		Cluster:  power.Cluster{Name: "site", UID: "1-2-3", CA: "ca", Server: "server"},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "machine")
	for path, text := range map[string]string{
		filepath.Join(hostDir, "registered.jsonl"): string(note) + "\n",
		file:                                 "off\n",
		filepath.Join(dir, "lightsout.yaml"): "state: st\npower: {off_by: exec, on_by: exec, exec: {state_command: [cat, " + file + "], proves_off: true, off_command: [sh, -c, 'echo off > " + file + "'], on_command: [sh, -c, 'echo on > " + file + "']}}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.File = filepath.Join(dir, "lightsout.yaml")
	return o, func() string {
		text, _ := os.ReadFile(file)
		return strings.TrimSpace(string(text))
	}
}

// switchOff switches n3 off by its exec driver, and closes r.
func switchOff(t *testing.T, r *restoration) {
	t.Helper()
	m := &power.Machine{Driver: "exec", ID: "n3", Name: "n3"}
	if err := r.machines.fleet.Do(t.Context(), power.ActionOff, []power.Binding{{Node: power.NodeRef{Name: "n3"}, Off: m, On: m}}, nil, nil); err != nil {
		t.Fatal(err)
	}
	r.close()
}

// Without a kubeconfig restore reads the host's register for the machines that are off
// in all clusters.
func TestRestoreWithoutAKubeconfigReadsTheRegisterOfEveryCluster(t *testing.T) {
	o, machine := switchedOffByAnother(t)
	err := restore(t.Context(), o, nil, true)
	if err == nil || !strings.Contains(err.Error(), "others have switched off n3") || machine() != "off" {
		t.Errorf("the machine is %s: %v", machine(), err)
	}
	if err == nil || !strings.Contains(err.Error(), "repeat this command with: n3;") { // it has the flags that lead there
		t.Errorf("the hint is missing: %v", err)
	}
}

// restore powers on a machine that another operator has switched off only by its name.
func TestRestorePowersOnOthersMachinesOnlyByName(t *testing.T) {
	o, machine := switchedOffByAnother(t)
	if err := restore(t.Context(), o, []string{"n4"}, true); err == nil || !strings.Contains(err.Error(), "lightsout power on n4") {
		t.Errorf("for a node that is on: %v", err)
	}
	if err := restore(t.Context(), o, []string{"n3"}, false); err == nil || !strings.Contains(err.Error(), "no terminal to confirm on") || machine() != "off" {
		t.Errorf("the operator did not answer, and the machine is %s: %v", machine(), err)
	}
	if err := restore(t.Context(), o, []string{"n3"}, true); err != nil || machine() != "on" {
		t.Errorf("the operator named the machine, and it is %s: %v", machine(), err)
	}
	if err := restore(t.Context(), o, nil, true); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A name on which restore cannot act does not hold up the others.
func TestAWrongNameDoesNotHoldUpRestore(t *testing.T) {
	o, machine := switchedOffByAnother(t)
	err := restore(t.Context(), o, []string{"n4", "n3"}, true)
	if err == nil || !strings.Contains(err.Error(), "lightsout power on n4") || machine() != "on" {
		t.Errorf("the machine is %s: %v", machine(), err)
	}
}

// If this journal switches a machine off, and another journal does after it was on
// again, the machine belongs to the other operator: neither --yes nor a question that
// names other machines powers it on.
func TestRestoreLeavesMachinesThatAnotherJournalHasSwitchedOffSince(t *testing.T) {
	o, machine := switchedOffByAnother(t)
	all, err := restorations(o)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d clusters: %v", len(all), err)
	}
	r := all[0]
	defer r.close()
	before, after := time.Now().Add(-2*time.Hour), time.Now()
	for at, taken := range map[time.Time]bool{before: true, after: false} {
		r.left, r.on, r.foreign = []power.LeftOff{{Entry: power.Entry{Node: "n3", At: at}, Before: outage.Before{Asked: at}}, {Entry: power.Entry{Node: "n4", At: at}, Before: outage.Before{Asked: at}}}, []string{"n3", "n4"}, nil
		r.takenOver(t.Context())
		if (r.foreignOn("n3") != nil) != taken || slices.Contains(r.on, "n3") == taken || !slices.Contains(r.on, "n4") {
			t.Errorf("switched off by this journal at %s: powers on %v, of others %+v", at, r.on, r.foreign)
		}
	}
	if machine() != "off" {
		t.Error("restore powered the machine on")
	}
}

// An annotation that another operator has left on a node ends when the node has been
// Ready for longer than the request could take.
func TestAnAnnotationOnANodeThatIsReadyForLongEnds(t *testing.T) {
	o, _ := switchedOffByAnother(t)
	all, err := restorations(o)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d clusters: %v", len(all), err)
	}
	defer all[0].close()
	s := &power.Switcher{Fleet: all[0].machines.fleet, Journal: all[0].journal}
	for _, c := range []struct {
		ago, heard time.Duration
		stays      bool
	}{
		{power.CarriedOutWithin - time.Minute, 0, true},
		{power.CarriedOutWithin + 6*time.Minute, 5 * time.Minute, false},
		{48 * time.Hour, 48 * time.Hour, true}, // nobody marks the node NotReady
	} {
		mark := power.Note{By: "anna", Journal: "hers", At: time.Now().Add(-c.ago)}
		n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, Renewed: time.Now().Add(-c.heard), Annotations: map[string]string{power.AnnotationSwitchedOff: mark.Text()}}
		others := s.Sweep(markedNodes(justListed([]*cluster.Node{n}, nil), time.Now()))
		if slices.ContainsFunc(others, func(n power.NodeNote) bool { return n.Node == "n1" }) != c.stays {
			t.Errorf("%s after it was written, heard %s ago: %+v", c.ago, c.heard, others)
		}
	}
}

// A power API carries out a request late, after the machine was on again: restore finds
// the machine, although its operation was settled.
func TestRestoreFindsAMachineThatALateRequestSwitchedOff(t *testing.T) {
	o, machine := switchedOffByAnother(t)
	if err := os.Remove(filepath.Join(hostDir, "registered.jsonl")); err != nil {
		t.Fatal(err)
	}
	r, err := newRestoration(o, filepath.Join(filepath.Dir(o.File), "st"), power.Cluster{Name: "site", UID: "1-2-3", CA: "ca"}, o.File, nil)
	if err != nil {
		t.Fatal(err)
	}
	set := func(state string) {
		if err := os.WriteFile(filepath.Join(filepath.Dir(o.File), "machine"), []byte(state+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set("on")
	m := &power.Machine{Driver: "exec", ID: "n3", Name: "n3"}
	bindings := []power.Binding{{Node: power.NodeRef{Name: "n3"}, Off: m, On: m}}
	for _, a := range []power.Action{power.ActionOff, power.ActionOn} {
		if err := r.machines.fleet.Do(t.Context(), a, bindings, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	r.close()
	if err := restore(t.Context(), o, nil, true); err != nil || machine() != "on" {
		t.Fatalf("the machine is %s: %v", machine(), err)
	}
	set("off")
	dry := o
	dry.dryRun = true
	if err := restore(t.Context(), dry, nil, true); err == nil || machine() != "off" {
		t.Errorf("a dry run reports nothing off, or powers on (the machine is %s): %v", machine(), err)
	}
	if err := restore(t.Context(), o, nil, true); err != nil || machine() != "on" {
		t.Errorf("the machine is %s: %v", machine(), err)
	}
}

// A request is carried out late on a machine of one config file, while a machine of
// another config file for the same cluster is off: restore powers both on.
func TestRestoreFindsALateMachineBesideOneOfAnotherConfig(t *testing.T) {
	o, machine := switchedOffByAnother(t)
	dir := filepath.Dir(o.File)
	first, err := os.ReadFile(o.File)
	if err == nil {
		err = os.Remove(filepath.Join(hostDir, "registered.jsonl"))
	}
	second := strings.ReplaceAll(string(first), filepath.Join(dir, "machine"), filepath.Join(dir, "other"))
	for name, text := range map[string]string{"a.yaml": string(first), "b.yaml": second, "machine": "on\n", "other": "on\n"} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		config, node string
		actions      []power.Action
	}{{"b.yaml", "n4", []power.Action{power.ActionOff}}, {"a.yaml", "n3", []power.Action{power.ActionOff, power.ActionOn}}} {
		o.File = filepath.Join(dir, x.config)
		r, err := newRestoration(o, filepath.Join(dir, "st"), power.Cluster{Name: "site", UID: "1-2-3", CA: "ca"}, o.File, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := &power.Machine{Driver: "exec", ID: x.node, Name: x.node}
		for _, a := range x.actions {
			if err := r.machines.fleet.Do(t.Context(), a, []power.Binding{{Node: power.NodeRef{Name: x.node}, Off: m, On: m}}, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		r.close()
	}
	if err := os.WriteFile(filepath.Join(dir, "machine"), []byte("off\n"), 0o600); err != nil { // the late one
		t.Fatal(err)
	}
	t.Chdir(dir) // with its lightsout.yaml, and without --config
	o.File = ""
	err = restore(t.Context(), o, nil, true)
	other, _ := os.ReadFile(filepath.Join(dir, "other"))
	if err != nil || machine() != "on" || strings.TrimSpace(string(other)) != "on" {
		t.Errorf("n3 is %s, n4 is %s: %v", machine(), other, err)
	}
}

// An operator has edited lightsout.yaml, and it leads to another cluster now, with a node
// of the same name. Its drivers ask that cluster's machines: restore settles nothing by
// them, and powers none of them on.
func TestRestoreLeavesTheMachinesOfAnotherClusterAlone(t *testing.T) {
	for _, state := range []string{"on", "off"} {
		t.Run("the other cluster's machine is "+state, func(t *testing.T) {
			o, machine := switchedOffByAnother(t)
			if err := os.Remove(filepath.Join(hostDir, "registered.jsonl")); err != nil {
				t.Fatal(err)
			}
			uid, dir := "uid-b", filepath.Dir(o.File)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if strings.HasSuffix(r.URL.Path, "/nodes") {
					fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","items":[]}`)
					return
				}
				fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, uid)
			}))
			defer server.Close()
			kubeconfig := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: site\ncontexts: [{name: site, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {}}]\n", server.URL)
			set := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			set("none", kubeconfig)
			set("machine", "on\n")
			r, err := newRestoration(o, filepath.Join(dir, "st"), power.Cluster{Name: "site", UID: "uid-b"}, o.File, nil)
			if err != nil {
				t.Fatal(err)
			}
			switchOff(t, r)

			uid = "uid-a"
			set("machine", state+"\n")
			for range 2 {
				if err := restore(t.Context(), o, nil, true); err == nil || !strings.Contains(err.Error(), "lightsout leaves n3 off") || machine() != state {
					t.Errorf("the other cluster's machine is %s: %v", machine(), err)
				}
			}
			uid = "uid-b"
			set("machine", "off\n")
			if err := restore(t.Context(), o, nil, true); err != nil || machine() != "on" {
				t.Errorf("with the settings of its own cluster the machine is %s: %v", machine(), err)
			}
		})
	}
}

// kubeSystem serves an API of a cluster with that UID and no nodes.
func kubeSystem(t *testing.T, uid string) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/nodes") {
			fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","items":[]}`)
			return
		}
		fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, uid)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// A tunnel leads to an API server that does not reveal its UID. Another cluster may be
// behind it: restore uncordons no node there, and keeps the cordon in the journal.
func TestRestoreUncordonsNothingInAClusterThatIsUnknown(t *testing.T) {
	o, _ := switchedOffByAnother(t)
	dir := filepath.Dir(o.File)
	if err := os.Remove(filepath.Join(hostDir, "registered.jsonl")); err != nil {
		t.Fatal(err)
	}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/namespaces/kube-system") {
			asked = append(asked, r.Method+" "+r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	}))
	defer server.Close()
	kubeconfig := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: site\ncontexts: [{name: site, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {}}]\n", server.URL)
	if err := os.WriteFile(filepath.Join(dir, "none"), []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := o.Read()
	if err != nil {
		t.Fatal(err)
	}
	here, err := clusterHere(cfg)
	if err != nil {
		t.Fatal(err)
	}
	here.UID = "uid-a"
	j := power.OpenJournal(filepath.Join(dir, "st"), here, o.File)
	if err := j.Cordoned("n3", ""); err != nil {
		t.Fatal(err)
	}
	if err := restore(t.Context(), o, nil, true); err == nil || !strings.Contains(err.Error(), "still cordoned: n3") {
		t.Errorf("restore ends with %v", err)
	}
	if left, err := j.LeftCordoned(); len(left) != 1 || err != nil || len(asked) > 0 {
		t.Errorf("left cordoned %+v, %v; requests %q", left, err, asked)
	}
	_ = j.Close()
}

// The register lists a machine of another cluster than the one that the kubeconfig leads to
// today.
func TestRestoreReportsTheRegisteredMachinesOfOtherClusters(t *testing.T) {
	o, machine := switchedOffByAnother(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/nodes") {
			fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","items":[]}`)
			return
		}
		fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"another"}}`)
	}))
	defer server.Close()
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: here\ncontexts: [{name: here, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {}}]\n", server.URL)
	if err := os.WriteFile(filepath.Join(filepath.Dir(o.File), "none"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	err := restore(t.Context(), o, nil, true)
	if err == nil || !strings.Contains(err.Error(), "another cluster, site, as off: n3 was switched off by tanaka@jump-7") || machine() != "off" {
		t.Errorf("the machine is %s: %v", machine(), err)
	}
}

// A question is asked only when all that was written before it has been shown.
func TestAQuestionWaitsForTheOutputBeforeIt(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	terminal := os.Stdout
	os.Stdout = w
	defer func() { os.Stdout = terminal }()
	out := queueOutput()
	for range 1000 {
		fmt.Println(strings.Repeat("x", 999))
	}
	asked := make(chan func(), 1)
	go func() { asked <- out.directly(t.Context()) }()
	buf := make([]byte, 1000)
	for i := range 1000 {
		select {
		case resume := <-asked:
			if asked <- resume; i < 900 { // the rest is in the terminal's own pipe
				t.Fatal("asked before the output was shown")
			}
		default:
		}
		if _, err := io.ReadFull(r, buf); err != nil {
			t.Fatal(err)
		}
	}
	resume := <-asked
	if os.Stdout != w {
		t.Error("the question goes into the queue")
	}
	resume()
	fmt.Println("after")
	out.end(t.Context(), time.Minute)
	w.Close()
	if b, err := io.ReadAll(r); err != nil || string(b) != "after\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// The link of the operator stalls, or somebody has pressed Ctrl-S.
func TestAStalledTerminalDelaysNoRestore(t *testing.T) {
	o, machine := switchedOffByAnother(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	terminal := os.Stdout
	os.Stdout = w
	if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for err == nil { // until the pipe is full
		_, err = w.Write(make([]byte, 4096))
	}
	if err := w.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- restore(t.Context(), o, []string{"n3"}, true) }()
	for end := time.Now().Add(20 * time.Second); machine() != "on" && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if machine() != "on" {
		t.Error("the machine is off")
	}
	read := make(chan struct{})
	go func() { defer close(read); _, _ = io.Copy(io.Discard, r) }()
	if err := <-done; err != nil {
		t.Error(err)
	}
	os.Stdout = terminal
	w.Close()
	<-read
}
