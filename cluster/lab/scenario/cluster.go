package scenario

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"lightsout/cluster/lab/ingress"
	"lightsout/cluster/lab/kubeproxy"
	"lightsout/cluster/lab/kubeproxy/endpoints"
	"lightsout/cluster/lab/machine"
	"lightsout/cluster/lab/network"
	"lightsout/cluster/lab/process"
	"lightsout/cluster/lab/workload"
)

// Options are what a Cluster stands on.
type Options struct {
	// Network gets a host for each machine, named like it.
	Network *network.Network
	// REST reaches the API server as an administrator, for the lab's own use.
	REST *rest.Config
	// Kubelets is the same for the machines; nil: REST. Whatever host it
	// names, they dial the scenario's APIServer address from their own hosts:
	// who starts the control plane must listen there, from Boot of the
	// control plane's machine. With Direct they dial as Kubelets says.
	Kubelets *rest.Config
	Direct   bool
	// Boot runs at each boot of each machine; see machine.Config. It may be nil.
	Boot func(ctx context.Context, m *machine.Machine) error
	// Serving runs Knative Serving's components. A scenario that has them needs it.
	// Create sets its View.
	Serving *process.Runner
	// ControlPlane are the static pods of the control plane's machine.
	ControlPlane []machine.StaticPod
	// Log gets what goes wrong inside; nil: nothing.
	Log *slog.Logger
}

// Cluster is a running scenario: its machines and what runs on them. It is
// safe for use by several goroutines at once.
type Cluster struct {
	scenario *Scenario
	client   kubernetes.Interface
	custom   dynamic.Interface
	view     *endpoints.View
	machines []*machine.Machine
	cancel   context.CancelFunc
}

// Start adds the machines to the network and starts them. The API server must
// answer. It returns when the machines run, which is before their nodes are
// Ready. It fails when the API server does not answer before ctx ends. The
// Cluster does not end with ctx, but with Close.
func (s *Scenario) Start(ctx context.Context, o Options) (*Cluster, error) {
	cfg := rest.CopyConfig(o.REST)
	cfg.UserAgent = "lightsout-lab"
	cfg.QPS, cfg.Burst = 100, 200
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("the lab has no way to its API server: %w", err)
	}
	jsonly := rest.CopyConfig(cfg)
	jsonly.ContentType, jsonly.AcceptContentTypes = "application/json", ""
	custom, err := dynamic.NewForConfig(jsonly)
	if err != nil {
		return nil, fmt.Errorf("the lab has no way to its API server: %w", err)
	}
	run, cancel := context.WithCancel(context.Background())
	starting := context.AfterFunc(ctx, cancel)
	view, err := endpoints.Start(run, client)
	if !starting() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("the lab's API server does not answer: %w", errors.Join(err, ctx.Err()))
	}
	kubelets := cmp.Or(o.Kubelets, o.REST)
	get := func() *endpoints.View { return view }
	c := &Cluster{scenario: s, client: client, custom: custom, cancel: cancel, view: view}
	images := workload.Images{
		"nginx":      workload.Nginx,
		"llama.cpp":  workload.Llama(s.timing.llama),
		"kube-proxy": kubeproxy.Program(get, s.timing.proxySync),
	}
	if s.Serving {
		o.Serving.View = get
		images["kourier-gateway"] = ingress.Program(custom, get, ingressDomain)
		maps.Copy(images, servingImages(o.Serving))
	}
	for i, spec := range s.Machines {
		m := machine.Config{
			Name:         spec.Name,
			Host:         o.Network.AddHost(spec.Name, spec.IP),
			IP:           spec.IP,
			REST:         kubelets,
			ControlPlane: spec.ControlPlane,
			CPUs:         spec.CPUs,
			MemoryGiB:    spec.MemoryGiB,
			GPUs:         spec.GPUs,
			Labels:       spec.Labels,
			Pods:         spec.Pods,
			PodNet:       fmt.Sprintf("10.244.%d", i),
			Images:       images,
			Boot:         o.Boot,
			Timing:       s.timing.machine,
			Log:          o.Log,
		}
		if !o.Direct {
			m.APIServer = s.APIServer
		}
		if spec.ControlPlane {
			m.StaticPods = o.ControlPlane
		}
		c.machines = append(c.machines, machine.New(m))
	}
	for _, m := range c.machines {
		if err := m.Start(); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// Close ends all machines and what runs on them, and waits for it.
func (c *Cluster) Close() {
	var wg sync.WaitGroup
	for _, m := range c.machines {
		wg.Go(m.Close)
	}
	wg.Wait()
	c.cancel()
}

// Machines returns all machines, in the scenario's order.
func (c *Cluster) Machines() []*machine.Machine { return c.machines }

// Machine returns one machine by its name; nil if there is none.
func (c *Cluster) Machine(name string) *machine.Machine {
	for _, m := range c.machines {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

// waits reports whether an object has pods for the workers.
func waits(o runtime.Object) bool {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return o.Spec.Template.Spec.NodeSelector == nil
	case *appsv1.StatefulSet:
		return true
	case *unstructured.Unstructured:
		return o.GetKind() == "Service"
	}
	return false
}

// Create creates the scenario's objects, those that are there already apart.
// What has pods for the workers comes last, when all nodes are Ready, so that the scheduler
// spreads their pods evenly.
func (c *Cluster) Create(ctx context.Context) error {
	var last []runtime.Object
	for _, o := range c.scenario.Objects {
		if waits(o) {
			last = append(last, o)
			continue
		}
		if err := create(ctx, c.custom, o); err != nil {
			return err
		}
	}
	if err := c.Ready(ctx); err != nil {
		return err
	}
	for _, o := range last {
		if err := create(ctx, c.custom, o); err != nil {
			return err
		}
	}
	return nil
}

// Ready waits until all nodes are registered and Ready. It fails when ctx
// ends before.
func (c *Cluster) Ready(ctx context.Context) error {
	return poll(ctx, "the nodes are not all Ready", func() (bool, error) {
		list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false, err
		}
		ready := 0
		for _, n := range list.Items {
			for _, t := range n.Status.Conditions {
				if t.Type == corev1.NodeReady && t.Status == corev1.ConditionTrue {
					ready++
				}
			}
			for _, t := range n.Spec.Taints { // the scheduler heeds the taint, not the condition
				if t.Key == corev1.TaintNodeNotReady {
					ready--
				}
			}
		}
		return ready >= len(c.machines), nil
	})
}

// Settled waits until all of the scenario's deployments and stateful sets are complete.
// It fails when ctx ends before.
func (c *Cluster) Settled(ctx context.Context) error {
	for _, o := range c.scenario.Objects {
		var key types.NamespacedName
		least := int32(0) // Knative begins with one replica, whatever the least scale is
		switch o := o.(type) {
		case *appsv1.Deployment:
			key = types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
		case *unstructured.Unstructured:
			if o.GetKind() != "Service" {
				continue
			}
			if err := c.serves(ctx, o); err != nil {
				return err
			}
			scale, _, _ := unstructured.NestedString(o.Object, "spec", "template", "metadata", "annotations", "autoscaling.knative.dev/min-scale")
			n, _ := strconv.Atoi(scale)
			least = int32(n)
			key = types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName() + "-00001-deployment"}
		case *appsv1.StatefulSet:
			err := poll(ctx, fmt.Sprintf("stateful set %s is not complete", o.Name), func() (bool, error) {
				now, err := c.client.AppsV1().StatefulSets(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
				return err == nil && now.Status.AvailableReplicas == *o.Spec.Replicas, err
			})
			if err != nil {
				return err
			}
			continue
		default:
			continue
		}
		err := poll(ctx, fmt.Sprintf("deployment %s is not complete", key.Name), func() (bool, error) {
			now, err := c.client.AppsV1().Deployments(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			return *now.Spec.Replicas >= least && now.Status.ObservedGeneration >= now.Generation && now.Status.AvailableReplicas == *now.Spec.Replicas &&
				now.Status.Replicas == *now.Spec.Replicas, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// serves waits until a Knative service is Ready: its route leads to its revision.
func (c *Cluster) serves(ctx context.Context, o *unstructured.Unstructured) error {
	path := "/apis/serving.knative.dev/v1/namespaces/" + o.GetNamespace() + "/services/" + o.GetName()
	return poll(ctx, "service "+o.GetName()+" is not Ready", func() (bool, error) {
		raw, err := c.client.AppsV1().RESTClient().Get().AbsPath(path).DoRaw(ctx)
		if err != nil {
			return false, err
		}
		var now struct {
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
		if err := json.Unmarshal(raw, &now); err != nil {
			return false, err
		}
		for _, condition := range now.Status.Conditions {
			if condition.Type == "Ready" {
				return condition.Status == "True", nil
			}
		}
		return false, nil
	})
}

// poll asks until the answer is yes; if ctx ends before, it fails with what.
func poll(ctx context.Context, what string, ask func() (bool, error)) error {
	for {
		ok, err := ask()
		if ok {
			return nil
		}
		if !workload.Pause(ctx, 100*time.Millisecond) {
			return fmt.Errorf("%s: %w", what, errors.Join(context.Cause(ctx), err))
		}
	}
}
