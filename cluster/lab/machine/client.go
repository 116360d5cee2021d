package machine

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// kubeletVersion is what the nodes say they run.
const kubeletVersion = "v1.36.3"

// connect gives the kubelet its clients of the API for one life of the machine.
// Each life has connections of its own: those of a life that has ended are
// frozen or gone.
func (k *kubelet) connect() error {
	m := k.m
	cfg := rest.CopyConfig(m.cfg.REST)
	cfg.UserAgent = "kubelet/" + kubeletVersion + " (linux/amd64) node/" + m.cfg.Name
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	cfg.QPS, cfg.Burst = 50, 100 // kubeAPIQPS, kubeAPIBurst
	tls, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return fmt.Errorf("the API credentials of machine %s are of no use: %w", m.cfg.Name, err)
	}
	t := &http.Transport{
		TLSClientConfig:     tls,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 25,
		IdleConnTimeout:     90 * time.Second,
		// A connection to a control plane that went silent is given up.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	if at := m.cfg.APIServer; at != "" {
		t.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return m.cfg.Host.DialContext(ctx, network, at)
		}
	}
	rt, err := rest.HTTPWrappersForConfig(cfg, t)
	if err != nil {
		return fmt.Errorf("the API credentials of machine %s are of no use: %w", m.cfg.Name, err)
	}
	k.disconnect = t.CloseIdleConnections
	k.client, err = kubernetes.NewForConfigAndClient(cfg, &http.Client{Transport: rt})
	if err == nil {
		// A silent API server must not hold up the next heartbeat.
		limit := max(m.cfg.Timing.Lease/4, time.Second)
		k.heartbeats, err = kubernetes.NewForConfigAndClient(cfg, &http.Client{Transport: rt, Timeout: limit})
	}
	if err != nil {
		return fmt.Errorf("machine %s has no way to the API: %w", m.cfg.Name, err)
	}
	return nil
}
