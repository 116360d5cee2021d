package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"lightsout/cluster/lab/machine"
	"lightsout/cluster/lab/workload"
)

// Pace is how fast time goes.
type Pace string

const (
	// Real keeps upstream's timings, and boots and answers as slowly as small
	// machines do.
	Real Pace = "real"
	// Fast shortens them, for demonstrations and tests.
	Fast Pace = "fast"
)

// timing is what a pace means for the simulated parts.
type timing struct {
	machine   machine.Timing
	llama     workload.LlamaTiming
	proxySync time.Duration // kube-proxy's minSyncPeriod
}

var paces = map[Pace]timing{
	Real: {
		machine: machine.Timing{
			Boot:           20 * time.Second,
			KubeletReady:   1500 * time.Millisecond,
			Shutdown:       4 * time.Second,
			Lease:          40 * time.Second,
			NodeStatus:     10 * time.Second,
			PodSync:        10 * time.Second,
			ContainerStart: time.Second,
			ProbePeriod:    500 * time.Millisecond,
		},
		llama:     workload.LlamaTiming{Load: 3 * time.Second, Token: 300 * time.Millisecond},
		proxySync: time.Second,
	},
	Fast: {
		machine: machine.Timing{
			Boot:           3 * time.Second,
			KubeletReady:   500 * time.Millisecond,
			Shutdown:       1500 * time.Millisecond,
			Lease:          4 * time.Second,
			NodeStatus:     2 * time.Second,
			PodSync:        time.Second,
			ContainerStart: 300 * time.Millisecond,
			ProbePeriod:    250 * time.Millisecond,
		},
		llama:     workload.LlamaTiming{Load: 700 * time.Millisecond, Token: 150 * time.Millisecond},
		proxySync: 100 * time.Millisecond,
	},
}

// MachineSpec is one machine.
type MachineSpec struct {
	// Name is the node's and the machine's.
	Name string
	// IP is its address.
	IP           string
	ControlPlane bool
	// CPUs, MemoryGiB and Pods are its capacity.
	CPUs, MemoryGiB, Pods int
	// GPUs is the number of its nvidia.com/gpu.
	GPUs int
	// Labels are added to the node's own.
	Labels map[string]string
	// ServiceLevel is mdx's: "spot" or "guarantee".
	ServiceLevel string
}

// Load is what to send where.
type Load struct {
	// URL is where requests go; Host is their Host header, if it is another.
	URL, Host string
	// Profile is "chat" or "http".
	Profile string
	// Model, Prompt, MaxTokens and APIKey are for chat.
	Model, Prompt string
	MaxTokens     int
	APIKey        string
	// Timeout is for a whole request.
	Timeout time.Duration
	// Deployment is who answers, "namespace/name".
	Deployment string
	// Burst and Hold are the usual numbers of requests.
	Burst, Hold int
}

// Scenario is one lab. Everything in it may be read; it must not be changed.
type Scenario struct {
	Name string
	Pace Pace
	// Context is the name for the kubeconfig's context.
	Context string
	// APIServer is the API server's address on the lab's network.
	APIServer string
	// Machines are all machines, the control plane's first.
	Machines []MachineSpec
	// Objects are what is deployed, in the order of creation.
	Objects []runtime.Object
	Load    Load
	// Serving: the scenario installs Knative Serving.
	Serving bool

	timing timing
}

var scenarios = map[string]func(*Scenario){
	"mdx":     mdx,
	"mixed":   mixed,
	"vagrant": vagrant,
}

// Names returns the names of all scenarios, sorted.
func Names() []string { return slices.Sorted(maps.Keys(scenarios)) }

// Get returns the scenario of that name. Secrets in it are new at every call.
// It fails when there is no such scenario or pace.
func Get(name string, pace Pace) (*Scenario, error) {
	fill, ok := scenarios[name]
	if !ok {
		return nil, fmt.Errorf("there is no scenario %q: take one of %s", name, strings.Join(Names(), ", "))
	}
	t, ok := paces[pace]
	if !ok {
		return nil, fmt.Errorf("there is no pace %q: take %s or %s", pace, Real, Fast)
	}
	s := &Scenario{Name: name, Pace: pace, Context: "lab-" + name, timing: t}
	fill(s)
	return s, nil
}
