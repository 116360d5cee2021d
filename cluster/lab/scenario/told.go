package scenario

import (
	"bufio"
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Told holds the numbers of requests that Knative's components report.
type Told struct {
	// Activators is the sum of the activators' activator_request_concurrency: all
	// requests that they hold, including those that a pod is working on.
	Activators float64 `json:"activators"`
	// QueueProxies is the sum of the queue-proxies' average_concurrent_requests, and
	// Answered is the number of queue-proxies that answered. Both are averages over a
	// second.
	QueueProxies float64 `json:"queueProxies"`
	Answered     int     `json:"answered"`
}

// toldWithin bounds each request.
const toldWithin = time.Second

// Knative polls the activators and the queue-proxies from the control plane's machine.
// It leaves out those without power and those that do not answer.
func (c *Cluster) Knative(ctx context.Context) (out Told) {
	if !c.scenario.Serving {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, toldWithin)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DialContext: c.machines[0].Host().DialContext, DisableKeepAlives: true}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	ask := func(ip string, take func(body []byte)) {
		wg.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(ip, "9090")+"/metrics", nil)
			if err != nil {
				return
			}
			resp, err := client.Do(req)
			if err != nil {
				return
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			take(body)
		})
	}
	for _, e := range c.view.Of(ServingNamespace, "activator-service", "http") {
		ask(e.IP, func(body []byte) { out.Activators += concurrency(string(body)) })
	}
	pods, err := c.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "serving.knative.dev/revision", ResourceVersion: "0"})
	if err != nil {
		return out
	}
	for _, p := range pods.Items {
		m := c.Machine(p.Spec.NodeName)
		if p.Status.PodIP == "" || m == nil || !m.Host().Up() {
			continue
		}
		ask(p.Status.PodIP, func(body []byte) {
			out.QueueProxies += average(body)
			out.Answered++
		})
	}
	wg.Wait()
	return out
}

// concurrency sums up activator_request_concurrency in Prometheus's text format.
func concurrency(text string) (sum float64) {
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, "activator_request_concurrency{") {
			v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			if err == nil {
				sum += v
			}
		}
	}
	return sum
}

// average reads field 2 of a queue-proxy's Stat, average_concurrent_requests.
func average(b []byte) float64 {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeField(b)
		if n < 0 {
			return 0
		}
		if number == 2 && kind == protowire.Fixed64Type {
			bits, _ := protowire.ConsumeFixed64(b[n-8:])
			return math.Float64frombits(bits)
		}
		b = b[n:]
	}
	return 0
}
