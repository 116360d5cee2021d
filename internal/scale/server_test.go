package scale

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"lightsout/internal/labtest"
)

// clients is a minimal client of an API server.
type clients struct {
	core, apps, coordination, discovery *rest.RESTClient
}

func newClients(kubeconfig string) (c clients, err error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return c, err
	}
	for _, one := range []struct {
		to    **rest.RESTClient
		path  string
		group schema.GroupVersion
	}{{&c.core, "/api", corev1.SchemeGroupVersion}, {&c.apps, "/apis", appsv1.SchemeGroupVersion},
		{&c.coordination, "/apis", coordinationv1.SchemeGroupVersion}, {&c.discovery, "/apis", discoveryv1.SchemeGroupVersion}} {
		config := rest.CopyConfig(config)
		config.QPS, config.ContentType = -1, runtime.ContentTypeProtobuf
		config.APIPath, config.GroupVersion, config.NegotiatedSerializer = one.path, &one.group, scheme.Codecs.WithoutConversion()
		if *one.to, err = rest.RESTClientFor(config); err != nil {
			return c, err
		}
	}
	return c, nil
}

// kind is one of the kinds that the program watches.
type kind struct {
	client   *rest.RESTClient
	resource string
	list     runtime.Object
}

func (c clients) kinds() []kind {
	return []kind{{c.core, "nodes", &corev1.NodeList{}}, {c.core, "pods", &corev1.PodList{}}, {c.coordination, "leases", &coordinationv1.LeaseList{}},
		{c.apps, "deployments", &appsv1.DeploymentList{}}, {c.apps, "replicasets", &appsv1.ReplicaSetList{}}, {c.discovery, "endpointslices", &discoveryv1.EndpointSliceList{}}}
}

// server is a filled API server, and a minimal client of it.
type server struct {
	clients
	info struct {
		Kubeconfig                           string
		Namespaces, Nodes, Deployments, Pods int
	}
	space map[string]string // the namespace of each pod, by its name
	end   func()
}

// startServer starts and fills one, which ends with b or by end.
func startServer(b *testing.B, size string) *server {
	s := &server{}
	s.end = labtest.Launch(b, &s.info, "--crowd", size)
	var err error
	if s.clients, err = newClients(s.info.Kubeconfig); err != nil {
		b.Fatal(err)
	}
	return s
}

// list lists what the program lists, all at once, and keeps nothing but the names
// of the pods.
func (s *server) list(b *testing.B) time.Duration {
	begun := time.Now()
	g, ctx := errgroup.WithContext(b.Context())
	var pods *corev1.PodList
	for _, k := range s.kinds() {
		if l, ok := k.list.(*corev1.PodList); ok {
			pods = l
		}
		g.Go(func() error { return k.client.Get().Resource(k.resource).Do(ctx).Into(k.list) })
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	took := time.Since(begun)
	s.space = make(map[string]string, len(pods.Items))
	for i := range pods.Items {
		s.space[strings.Clone(pods.Items[i].Name)] = strings.Clone(pods.Items[i].Namespace)
	}
	return took
}

// requests is how many requests the server has answered, but the renewals of
// Leases and what it asks itself.
func (s *server) requests(b *testing.B) (sum float64) {
	text, err := s.core.Get().AbsPath("/metrics").DoRaw(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "apiserver_request_total{") || strings.Contains(line, `resource="leases"`) {
			continue
		}
		fields := strings.Fields(line)
		n, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += n
	}
	return sum
}

// setPod sets whether a pod is ready and how often it was restarted, as a kubelet
// does.
func (s *server) setPod(ctx context.Context, name string, ready bool, restarts int) error {
	word := map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}[ready]
	status := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q},{"type":"ContainersReady","status":%q}],
		"containerStatuses":[{"name":"main","ready":%t,"restartCount":%d,"image":"images.example/main:1","imageID":"images.example/main","state":{"running":{}}}]}}`, word, word, ready, restarts)
	return s.core.Patch(types.StrategicMergePatchType).Namespace(s.space[name]).Resource("pods").Name(name).SubResource("status").
		Body([]byte(status)).Do(ctx).Error()
}

// watchPod watches one pod; the first event is how it stands.
func (s *server) watchPod(b *testing.B, name string) watch.Interface {
	w, err := s.core.Get().Namespace(s.space[name]).Resource("pods").
		VersionedParams(&metav1.ListOptions{Watch: true, ResourceVersion: "0", FieldSelector: "metadata.name=" + name}, metav1.ParameterCodec).Watch(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// killNode marks a node as the control plane does when nothing is heard of it.
func (s *server) killNode(ctx context.Context, i int) error {
	name := fmt.Sprintf("worker-%04d", i)
	status := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown","message":"Kubelet stopped posting node status.","lastTransitionTime":%q}]}}`,
		time.Now().UTC().Format(time.RFC3339))
	return s.core.Patch(types.StrategicMergePatchType).Resource("nodes").Name(name).SubResource("status").Body([]byte(status)).Do(ctx).Error()
}
