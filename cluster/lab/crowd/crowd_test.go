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
