package crowd

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"lightsout/cluster/lab/controlplane"
)

func TestMain(m *testing.M) {
	controlplane.Main()
	os.Exit(m.Run())
}

// TestTheAPIServerGivesWhatWasFilledIn fills the smallest size, changes a pod
// through the API server and waits for a heartbeat.
func TestTheAPIServerGivesWhatWasFilledIn(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	size := Sizes["S"]
	running, stop := context.WithCancel(ctx)
	infos, done := make(chan Info, 1), make(chan error, 1)
	go func() {
		done <- Run(running, "", size, func(i Info) error { infos <- i; return nil })
	}()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	var info Info
	select {
	case info = <-infos:
	case err := <-done:
		done <- err
		t.Fatal("it ended before it was ready")
	}
	config, err := clientcmd.BuildConfigFromFlags("", info.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sets, err := client.AppsV1().ReplicaSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != size.Pods || len(nodes.Items) != size.Nodes || len(sets.Items) != size.Deployments {
		t.Fatalf("%d pods, %d nodes, %d replica sets, want %+v", len(pods.Items), len(nodes.Items), len(sets.Items), size)
	}
	pod := pods.Items[0]
	pod.Status.ContainerStatuses[0].RestartCount = 7
	if _, err := client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, &pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	leases := client.CoordinationV1().Leases(leaseNamespace)
	first, err := leases.Get(ctx, nodeName(0), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := leases.Watch(ctx, metav1.ListOptions{ResourceVersion: first.ResourceVersion, FieldSelector: "metadata.name=" + nodeName(0)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if e, ok := <-w.ResultChan(); !ok || e.Type != "MODIFIED" {
		t.Errorf("no heartbeat: %v", e)
	}
	if _, err := os.Stat(strings.TrimSuffix(info.Kubeconfig, "kubeconfig")); err != nil {
		t.Error(err)
	}
}

// The managedFields that the crowd invents are as large as those of the same pod in an
// API server, after a controller created it and a kubelet reported on it.
func TestManagedFieldsAreAsLargeAsTheAPIServers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	infos, done := make(chan Info, 1), make(chan error, 1)
	running, stop := context.WithCancel(ctx)
	go func() {
		done <- Run(running, t.TempDir(), Size{Namespaces: 1, Nodes: 1, Deployments: 1, Pods: 1}, func(i Info) error { infos <- i; return nil })
	}()
	defer func() { stop(); <-done }()
	info := <-infos
	config, err := clientcmd.BuildConfigFromFlags("", info.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("space-00")
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d pods, %v", len(list.Items), err)
	}
	ours := list.Items[0]
	same := ours.DeepCopy()
	same.Name, same.ResourceVersion, same.UID, same.ManagedFields = "same", "", "", nil
	made, err := pods.Create(ctx, same, metav1.CreateOptions{FieldManager: controllers})
	if err != nil {
		t.Fatal(err)
	}
	made.Status = ours.Status
	if made, err = pods.UpdateStatus(ctx, made, metav1.UpdateOptions{FieldManager: "kubelet"}); err != nil {
		t.Fatal(err)
	}
	size := func(of []metav1.ManagedFieldsEntry) (n int) {
		for _, e := range of {
			n += e.Size()
		}
		return n
	}
	is, want := size(ours.ManagedFields), size(made.ManagedFields)
	t.Logf("%d bytes of managedFields (the API server's: %d) of %d bytes in all", is, want, ours.Size())
	if is < want*9/10 || is > want*11/10 {
		t.Errorf("%d bytes, the API server's are %d\n%s\n%s", is, want, ours.ManagedFields, made.ManagedFields)
	}
}
