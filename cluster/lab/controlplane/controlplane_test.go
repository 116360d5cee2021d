package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"lightsout/cluster/lab/network"
)

func TestMain(m *testing.M) {
	Main()
	goleak.VerifyTestMain(m)
}

// shortDir returns a folder whose path is short enough for unix sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

func TestControlPlane(t *testing.T) {
	n := network.New()
	cp := n.AddHost("cp", "10.0.0.10")
	pods := n.AddHost("node", "10.0.0.11")
	pods.AddIP("10.244.1.1")
	l, err := pods.Listen("10.244.1.1:9090")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello from the pod") })}
	go server.Serve(l)
	defer server.Close()

	c, err := Start(t.Context(), Config{Dir: shortDir(t), Address: "10.0.0.10", Timings: Fast(), Dial: cp.DialContext})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	admin := kubernetes.NewForConfigOrDie(c.RESTConfig(Admin))
	viewer := kubernetes.NewForConfigOrDie(c.RESTConfig(Viewer))
	ctx := t.Context()

	t.Run("users have the rights of their groups", func(t *testing.T) {
		if _, err := admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); err != nil {
			t.Errorf("admin: %v", err)
		}
		if _, err := viewer.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("viewer, who was given no rights: %v", err)
		}
	})

	t.Run("the controllers work and pods are reached through the egress", func(t *testing.T) {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
		if _, err := admin.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the controller manager gives the node its pod network", func() error {
			got, err := admin.CoreV1().Nodes().Get(ctx, "node", metav1.GetOptions{})
			if err == nil && !strings.HasPrefix(got.Spec.PodCIDR, "10.244.") {
				err = fmt.Errorf("pod network %q", got.Spec.PodCIDR)
			}
			return err
		})
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"},
			Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
		if pod, err = admin.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, toleration := range pod.Spec.Tolerations {
			if s := toleration.TolerationSeconds; s == nil || *s != 20 {
				t.Errorf("toleration %v, want 20 s", toleration)
			}
		}
		pod.Status.PodIP, pod.Status.Phase = "10.244.1.1", corev1.PodRunning
		pod.Status.PodIPs = []corev1.PodIP{{IP: "10.244.1.1"}}
		if _, err := admin.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		body, err := admin.CoreV1().Pods("default").ProxyGet("http", "p", "9090", "/metrics", nil).DoRaw(ctx)
		if err != nil || string(body) != "hello from the pod" {
			t.Errorf("through pods/proxy: %q, %v", body, err)
		}
	})

	t.Run("a killed API server comes back on its port", func(t *testing.T) {
		if err := c.Do(APIServer, "kill"); err != nil {
			t.Fatal(err)
		}
		if conn, err := net.Dial("tcp", c.LocalAddress()); err == nil {
			conn.Close()
			t.Error("something listens on the port of the dead API server")
		}
		if err := c.Do(APIServer, "start"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the API server answers again", func() error {
			_, err := admin.CoreV1().Nodes().Get(ctx, "node", metav1.GetOptions{})
			return err
		})
	})

	t.Run("a stopped component holds still", func(t *testing.T) {
		if err := c.Do(APIServer, "stop"); err != nil {
			t.Fatal(err)
		}
		// The signal stops one thread after the other.
		eventually(t, "it answers no more", func() error {
			short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			defer cancel()
			if _, err := admin.CoreV1().Nodes().Get(short, "node", metav1.GetOptions{}); err == nil {
				return errors.New("a stopped API server answered")
			}
			return nil
		})
		if err := c.Do(APIServer, "cont"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it goes on", func() error {
			_, err := admin.CoreV1().Nodes().Get(ctx, "node", metav1.GetOptions{})
			return err
		})
		if err := c.Do("kubelet", "stop"); err == nil {
			t.Error("unknown component accepted")
		}
	})

	t.Run("keys are readable by their owner alone", func(t *testing.T) {
		filepath.WalkDir(c.cfg.Dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || strings.HasPrefix(path, filepath.Join(c.cfg.Dir, "etcd")) || filepath.Ext(path) == ".crt" {
				return nil // certificates are no secret
			}
			info, err := d.Info()
			if err == nil && d.Type().IsRegular() && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			return nil
		})
	})

	pids := c.Status()
	c.Close()
	for _, p := range pids {
		if err := syscall.Kill(p.PID, 0); err != syscall.ESRCH {
			t.Errorf("%s is still there after Close: %v", p.Name, err)
		}
	}
}

func TestABadFlagIsReportedWithTheComponentsOwnWords(t *testing.T) {
	_, err := Start(t.Context(), Config{
		Dir: shortDir(t), Address: "10.0.0.10", ServiceCIDR: "10.96.0.0/1",
		Dial: (&net.Dialer{}).DialContext,
	})
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver ended") {
		t.Errorf("error: %v", err)
	}
}
