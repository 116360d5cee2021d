package controlplane

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Timings are those settings of the control plane that decide how fast an
// outage is noticed and acted upon. The zero value of each means upstream's
// default: its flag is not given.
type Timings struct {
	NodeMonitorPeriod       time.Duration // --node-monitor-period, upstream 5 s
	NodeMonitorGracePeriod  time.Duration // --node-monitor-grace-period, upstream 50 s
	NodeStartupGracePeriod  time.Duration // --node-startup-grace-period, upstream 60 s
	NodeEvictionRate        float64       // --node-eviction-rate in nodes a second, upstream 0.1
	DefaultTolerationPeriod time.Duration // --default-{not-ready,unreachable}-toleration-seconds, upstream 300 s
}

// Fast returns shortened timings, for leases of 4 s that are renewed each
// second: a silent node is NotReady after about 5 s, and its pods are evicted
// about 20 s later.
func Fast() Timings {
	return Timings{
		NodeMonitorPeriod:      500 * time.Millisecond,
		NodeMonitorGracePeriod: 5 * time.Second,
		NodeStartupGracePeriod: 5 * time.Second,
		// Not 1: while evictions are stopped the limiter claims a rate of 1
		// (client-go's fakeNeverRateLimiter.QPS), so a change to 1 is taken
		// for no change, and no node is ever evicted (SwapLimiter in
		// pkg/controller/nodelifecycle/scheduler/rate_limited_queue.go).
		NodeEvictionRate:        2,
		DefaultTolerationPeriod: 20 * time.Second,
	}
}

// controllers are those that the lab's scenarios need; the others would only
// cost time. There are no service accounts' tokens in the lab's pods, and no volumes but
// those that exist before their claims. The lab attaches those of all CSI drivers.
var controllers = []string{
	"daemonset-controller",
	"deployment-controller",
	"disruption-controller",
	"endpoints-controller", // Knative's controller writes Endpoints, and its activator reads them
	"endpointslice-controller",
	"endpointslice-mirroring-controller",
	"garbage-collector-controller",
	"job-controller",
	"namespace-controller",
	"node-ipam-controller",
	"node-lifecycle-controller",
	"persistentvolume-attach-detach-controller",
	"persistentvolume-binder-controller",
	"pod-garbage-collector-controller",
	"replicaset-controller",
	"statefulset-controller",
	"taint-eviction-controller",
}

const etcdSocket = "etcd.sock:0"

// flags returns the arguments of each component.
func (c *ControlPlane) flags() map[string][]string {
	in := func(names ...string) string {
		return filepath.Join(append([]string{c.cfg.Dir}, names...)...)
	}
	// etcd wants host:port also of a unix socket; it makes a file of that
	// name in its working directory.
	const client, peer = "unix://" + etcdSocket, "unix://peer.sock:0"

	apiserver := []string{
		"--advertise-address=" + c.cfg.Address,
		"--allow-privileged=true",
		"--authorization-mode=RBAC",
		"--bind-address=127.0.0.1",
		"--client-ca-file=" + in("pki", "ca.crt"),
		"--disable-admission-plugins=ServiceAccount",
		"--enable-aggregator-routing=true", // for webhooks: the lab's network has no service addresses
		"--egress-selector-config-file=" + in("egress.yaml"),
		"--endpoint-reconciler-type=none",
		"--etcd-servers=unix://" + in(etcdSocket),
		"--kubelet-client-certificate=" + in("pki", "apiserver-kubelet-client.crt"),
		"--kubelet-client-key=" + in("pki", "apiserver-kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP", // names of machines are known on the lab's network only
		"--permit-port-sharing=true",                   // with the socket that keeps the port for this lab
		"--profiling=false",
		"--secure-port=" + strconv.Itoa(c.port.number),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + in("pki", "sa.pub"),
		"--service-account-signing-key-file=" + in("pki", "sa.key"),
		"--service-cluster-ip-range=" + c.cfg.ServiceCIDR,
		"--tls-cert-file=" + in("pki", "apiserver.crt"),
		"--tls-private-key-file=" + in("pki", "apiserver.key"),
	}
	manager := []string{
		"--allocate-node-cidrs=true",
		"--cluster-cidr=" + c.cfg.PodCIDR,
		"--controllers=" + strings.Join(controllers, ","),
		"--kube-api-burst=400",
		"--kube-api-qps=200",
		"--kubeconfig=" + in(ControllerManager+".kubeconfig"),
		"--leader-elect=false",
		"--profiling=false",
		"--secure-port=0",
	}
	scheduler := []string{
		"--kube-api-burst=400",
		"--kube-api-qps=200",
		"--kubeconfig=" + in(Scheduler+".kubeconfig"),
		"--leader-elect=false",
		"--profiling=false",
		"--secure-port=0",
	}

	t := c.cfg.Timings
	if t.DefaultTolerationPeriod != 0 {
		s := strconv.Itoa(int(t.DefaultTolerationPeriod / time.Second))
		apiserver = append(apiserver,
			"--default-not-ready-toleration-seconds="+s,
			"--default-unreachable-toleration-seconds="+s)
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"--node-monitor-period=", t.NodeMonitorPeriod},
		{"--node-monitor-grace-period=", t.NodeMonitorGracePeriod},
		{"--node-startup-grace-period=", t.NodeStartupGracePeriod},
	} {
		if f.value != 0 {
			manager = append(manager, f.name+f.value.String())
		}
	}
	if t.NodeEvictionRate != 0 {
		manager = append(manager, "--node-eviction-rate="+strconv.FormatFloat(t.NodeEvictionRate, 'g', -1, 64))
	}

	return map[string][]string{
		Etcd: {
			"--advertise-client-urls=" + client,
			"--data-dir=" + in("etcd"),
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=lab=" + peer,
			"--listen-client-urls=" + client,
			"--listen-peer-urls=" + peer,
			"--log-level=warn",
			"--name=lab",
			"--quota-backend-bytes=8589934592", // a filled lab has 150,000 pods
			"--unsafe-no-fsync",                // the data does not outlive the lab
		},
		APIServer:         apiserver,
		ControllerManager: manager,
		Scheduler:         scheduler,
	}
}
