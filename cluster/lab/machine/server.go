package machine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"lightsout/cluster/lab/workload"
)

// serve opens the kubelet's own port, with /healthz and /configz, which the API server
// reaches by nodes/<name>/proxy, and the containers' logs, which it reaches by
// pods/<name>/log. Anybody may ask: nothing there is worth hiding.
func (k *kubelet) serve() (workload.Process, error) {
	m := k.m
	cert, err := serverCertificate()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	mux.HandleFunc("GET /configz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"kubeletconfig": m.kubeletConfig()})
	})
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.containerLog)
	return workload.ServeTLS(k.life.power, m.cfg.Host, net.JoinHostPort(m.cfg.IP, strconv.Itoa(kubeletPort)), mux, &tls.Config{
		Certificates: []tls.Certificate{cert},
		NextProtos:   []string{"http/1.1"},
	})
}

// kubeletConfig is that part of the kubelet's configuration which decides how
// an outage goes.
func (m *Machine) kubeletConfig() map[string]any {
	t := m.cfg.Timing
	return map[string]any{
		"kind":                            "KubeletConfiguration",
		"apiVersion":                      "kubelet.config.k8s.io/v1beta1",
		"nodeStatusUpdateFrequency":       t.NodeStatus.String(),
		"nodeStatusReportFrequency":       statusReport.String(),
		"nodeLeaseDurationSeconds":        int(t.Lease / time.Second),
		"maxPods":                         m.cfg.Pods,
		"shutdownGracePeriod":             "0s",
		"shutdownGracePeriodCriticalPods": "0s",
	}
}

// serverCertificate makes one self-signed certificate for all kubelets of the
// process.
var serverCertificate = sync.OnceValues(func() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("the kubelets' key can't be made: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "lab kubelet"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("the kubelets' certificate can't be made: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
})
