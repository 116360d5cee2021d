package assembly

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"lightsout/cluster/lab/controlplane"
	"lightsout/cluster/lab/scenario"
)

// runLab as the first argument makes this test binary a lab program.
const runLab = "run-lab"

func TestMain(m *testing.M) {
	controlplane.Main()
	klog.SetLogger(logr.Discard())
	if len(os.Args) > 2 && os.Args[1] == runLab {
		lab, err := Start(context.Background(), Config{Scenario: "vagrant", Pace: scenario.Fast, Dir: os.Args[2]})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		json.NewEncoder(os.Stdout).Encode(lab.Info())
		select {}
	}
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, name, dir string) *Lab {
	t.Helper()
	lab, err := Start(t.Context(), Config{Scenario: name, Pace: scenario.Fast, Dir: dir, Serving: "../../../bin/lightsout-lab-knative"})
	if err != nil {
		t.Fatal(err)
	}
	return lab
}

const mdxDeployment = "llm-jp-31-13b-00001-deployment"

// TestLab goes through the experiment on one lab, beside a second one.
func TestLab(t *testing.T) {
	dir := tempDir(t)
	var mdx, vagrant *Lab
	var wg sync.WaitGroup
	wg.Go(func() { mdx = start(t, "mdx", dir) })
	wg.Go(func() { vagrant = start(t, "vagrant", dir) })
	wg.Wait()
	if mdx == nil || vagrant == nil {
		t.FailNow()
	}
	defer mdx.Close()
	defer vagrant.Close()
	c, other := newClient(t, mdx.Info()), newClient(t, vagrant.Info())

	boots := func(c *client) map[string]string {
		var all []struct{ Name, State, BootID string }
		c.lab("GET", "/machines", "", &all)
		ids := map[string]string{}
		for _, m := range all {
			ids[m.Name] = m.State + " " + m.BootID
		}
		return ids
	}
	othersBoots, firstBoots := boots(other), boots(c)

	t.Run("16 pods run, four on each worker", func(t *testing.T) {
		list, err := c.kube.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		on := map[string]int{}
		for _, p := range list.Items {
			for _, k := range p.Status.Conditions {
				if k.Type == corev1.PodReady && k.Status == corev1.ConditionTrue {
					on[p.Spec.NodeName]++
				}
			}
		}
		for i := 1; i <= 4; i++ {
			if node := fmt.Sprintf("kube-node%d", i); on[node] != 4 || len(on) != 4 {
				t.Errorf("ready pods by node: %v", on)
				break
			}
		}
	})

	t.Run("settings can be read and pods reached through the API server", func(t *testing.T) {
		p, err := c.kube.CoreV1().Pods("kube-system").Get(t.Context(), "kube-controller-manager-kube-cp1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if args := p.Spec.Containers[0].Command; !slices.Contains(args, "--node-monitor-grace-period=5s") {
			t.Errorf("command %v", args)
		}
		list, err := c.kube.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.kube.CoreV1().Pods("default").ProxyGet("http", list.Items[0].Name, "9090", "/metrics", nil).DoRaw(t.Context()); err != nil {
			t.Errorf("the queue-proxy's metrics: %v", err)
		}
	})

	t.Run("clients watch the activator where there is one, and reach its metrics", func(t *testing.T) {
		if !slices.Contains(c.config.Namespaces, "knative-serving") || slices.Contains(other.config.Namespaces, "knative-serving") {
			t.Errorf("namespaces %v, without Knative %v", c.config.Namespaces, other.config.Namespaces)
		}
		list, err := c.kube.CoreV1().Pods("knative-serving").List(t.Context(), metav1.ListOptions{LabelSelector: "app=activator"})
		if err != nil || len(list.Items) != 1 {
			t.Fatalf("%d activators, %v", len(list.Items), err)
		}
		c := c.in(t)
		eventually(t, "the activator's metrics", func() error {
			// An activator that has served no request may have none.
			resp, err := c.http.Do(c.request(t.Context(), 1))
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, resp.Body)
			if err = errors.Join(err, resp.Body.Close()); err != nil {
				return err
			}
			page, err := c.kube.CoreV1().Pods("knative-serving").ProxyGet("http", list.Items[0].Name, "9090", "/metrics", nil).DoRaw(t.Context())
			if err == nil && !strings.Contains(string(page), "activator_request_count") {
				err = fmt.Errorf("the page is %q", page)
			}
			return err
		})
	})

	t.Run("the viewer may look and the nobody may not", func(t *testing.T) {
		viewer := kubernetes.NewForConfigOrDie(c.rest("lab-mdx-viewer"))
		if _, err := viewer.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("viewer: %v", err)
		}
		if err := viewer.CoreV1().Nodes().Delete(t.Context(), "kube-node1", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("viewer deletes a node: %v", err)
		}
		nobody := kubernetes.NewForConfigOrDie(c.rest("lab-mdx-nobody"))
		if _, err := nobody.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("nobody: %v", err)
		}
	})

	t.Run("nodes that are shut down over ssh, or lose their power, are missed by the control plane", func(t *testing.T) {
		c := c.in(t)
		if name, err := c.run("kube-node3", "hostname"); name != "kube-node3" || err != nil {
			t.Errorf("hostname: %q, %v", name, err)
		}
		if _, err := c.run("kube-node3", c.config.SSH.Shutdown); err != nil {
			t.Fatalf("shutdown: %v", err)
		}
		if code := c.lab("POST", "/machines/kube-node4/off", "", nil); code != http.StatusOK {
			t.Fatalf("power cut: %d", code)
		}
		c.awaitNode("kube-node4", corev1.ConditionUnknown)
		c.awaitNode("kube-node3", corev1.ConditionUnknown)
		c.awaitAvailable(mdxDeployment, 8)
		for _, node := range []string{"kube-node3", "kube-node4"} {
			if got := c.vms()[node][1]; got != "PowerOFF" {
				t.Errorf("the portal says that %s is %s", node, got)
			}
		}
	})

	t.Run("power from the portal brings them back", func(t *testing.T) {
		c := c.in(t)
		for _, node := range []string{"kube-node3", "kube-node4"} {
			if code := c.portal("POST", "/api/vm/"+c.vms()[node][0]+"/power_on/", `{"service_level":"spot"}`, nil); code != http.StatusAccepted {
				t.Errorf("power_on %s: %d", node, code)
			}
		}
		c.awaitNode("kube-node3", corev1.ConditionTrue)
		c.awaitNode("kube-node4", corev1.ConditionTrue)
		c.awaitAvailable(mdxDeployment, 16)
		now := boots(c)
		for node, was := range firstBoots {
			if booted := node == "kube-node3" || node == "kube-node4"; (now[node] != was) != booted || !strings.HasPrefix(now[node], "on ") {
				t.Errorf("%s: was %s, is %s", node, was, now[node])
			}
		}
		if id, err := c.run("kube-node3", "cat /proc/sys/kernel/random/boot_id"); "on "+id != now["kube-node3"] || err != nil {
			t.Errorf("boot id over ssh: %q, %v; the lab says %s", id, err, now["kube-node3"])
		}
	})

	t.Run("the other lab noticed nothing", func(t *testing.T) {
		if now := boots(other); fmt.Sprint(now) != fmt.Sprint(othersBoots) {
			t.Errorf("machines were %v, are %v", othersBoots, now)
		}
		nodes, err := other.nodes()
		if err != nil || len(nodes) != 3 || nodes["k8s1"] != corev1.ConditionTrue || nodes["k8s2"] != corev1.ConditionTrue || nodes["k8s3"] != corev1.ConditionTrue {
			t.Errorf("nodes %v, %v", nodes, err)
		}
		if n, err := other.available("nginx-webserver"); n != 6 || err != nil {
			t.Errorf("%d available, %v", n, err)
		}
	})

	pids := c.components()
	for _, lab := range []*Lab{mdx, vagrant} {
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(lab.Info().Dir); !os.IsNotExist(err) {
			t.Errorf("the folder is still there: %v", err)
		}
	}
	gone(t, pids)
}

// in returns the same client for a subtest.
func (c *client) in(t *testing.T) *client {
	d := *c
	d.t = t
	return &d
}

// request asks the scenario's service for so many tokens.
func (c *client) request(ctx context.Context, tokens int) *http.Request {
	c.t.Helper()
	key, err := os.ReadFile(c.config.Load.APIKeyFile)
	if err != nil {
		c.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, "POST", c.config.Load.URL, strings.NewReader(fmt.Sprintf(
		`{"model":%q,"stream":true,"max_tokens":%d,"messages":[{"role":"user","content":"hello"}]}`, c.config.Load.Model, tokens)))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Host = c.config.Load.Host
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(key)))
	req.Header.Set("Content-Type", "application/json")
	return req
}

// components returns the process ids of the control plane.
func (c *client) components() []int {
	c.t.Helper()
	var all []controlplane.Component
	c.lab("GET", "/components", "", &all)
	var pids []int
	for _, p := range all {
		if p.PID == 0 || p.State != controlplane.Running {
			c.t.Errorf("%s is %s", p.Name, p.State)
		}
		pids = append(pids, p.PID)
	}
	return pids
}

// gone waits until none of the processes exists.
func gone(t *testing.T, pids []int) {
	t.Helper()
	eventually(t, "the children end", func() error {
		for _, pid := range pids {
			// A zombie that nobody has waited for yet still has its number.
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err == nil && !strings.Contains(string(stat), ") Z ") {
				return fmt.Errorf("process %d is there", pid)
			}
		}
		return nil
	})
}

func TestAKilledLabLeavesNothing(t *testing.T) {
	dir := tempDir(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, runLab, dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var info Info
	if err := json.NewDecoder(out).Decode(&info); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("the ready line: %v", err)
	}
	c := newClient(t, info)
	pids := c.components()
	var ports []string
	for _, pid := range pids {
		ports = append(ports, listening(t, pid)...)
	}
	if len(ports) != 1 {
		t.Errorf("the components listen on %v, want the API server's port alone", ports)
	}
	ports = append(ports, info.Bastion.Address)

	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	gone(t, pids)
	for _, p := range ports {
		eventually(t, "the port is free", func() error {
			l, err := net.Listen("tcp4", p)
			if err == nil {
				l.Close()
			}
			return err
		})
	}

	next, err := newFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer next.remove(false)
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); !slices.Equal(left, []string{next.path}) {
		t.Errorf("in the folder are %v, want the next lab's %s alone", left, next.path)
	}
}

// listening returns the loopback TCP addresses on which a process listens.
func listening(t *testing.T, pid int) []string {
	t.Helper()
	sockets := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if link, err := os.Readlink(fd); err == nil && strings.HasPrefix(link, "socket:[") {
			sockets[strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]")] = true
		}
	}
	var all []string
	for _, table := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" || !sockets[f[9]] { // 0A: LISTEN
				continue
			}
			var port int
			fmt.Sscanf(f[1][strings.LastIndex(f[1], ":")+1:], "%X", &port)
			all = append(all, fmt.Sprintf("127.0.0.1:%d", port))
		}
	}
	return all
}

func TestAKeptOrLivingFolderIsNotSwept(t *testing.T) {
	dir := tempDir(t)
	kept, err := newFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.remove(true); err != nil {
		t.Fatal(err)
	}
	living, err := newFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	next, err := newFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*folder{kept, living, next} {
		if _, err := os.Stat(f.path); err != nil {
			t.Error(err)
		}
		f.lock.Close()
		os.RemoveAll(f.path)
	}
}

func TestUnknownScenarioAndTooLongPath(t *testing.T) {
	if _, err := Start(t.Context(), Config{Scenario: "nonsense", Pace: scenario.Fast}); err == nil || !strings.Contains(err.Error(), "mdx") {
		t.Errorf("the error must name the scenarios that there are: %v", err)
	}
	long := filepath.Join(tempDir(t), strings.Repeat("x", 80))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Config{Scenario: "mdx", Pace: scenario.Fast, Dir: long}); err == nil || !strings.Contains(err.Error(), "shorter") {
		t.Errorf("too long a path: %v", err)
	}
	os.Remove(long)
}
