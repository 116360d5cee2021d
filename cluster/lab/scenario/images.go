package scenario

import (
	"encoding/json"
	"fmt"
	"net"

	"lightsout/cluster/lab/process"
	"lightsout/cluster/lab/workload"
)

// servingImages are Knative Serving's components.
func servingImages(r *process.Runner) workload.Images {
	return workload.Images{
		"knative/webhook":     r.Program("webhook", nil),
		"knative/controller":  r.Program("controller", nil),
		"knative/autoscaler":  r.Program("autoscaler", scrapesByProxy),
		"knative/activator":   r.Program("activator", findsAutoscaler),
		"knative/queue-proxy": r.Program("queue-proxy", findsContainer),
	}
}

// scrapesByProxy routes the autoscaler's scrapes through the lab's network: the scraper
// honours the usual proxy variables.
func scrapesByProxy(env map[string]string, _ workload.Instance, _ func(string) (string, error)) error {
	env["HTTP_PROXY"] = "socks5://" + env["LAB_SOCKS"]
	env["NO_PROXY"] = "127.0.0.1"
	return nil
}

// findsAutoscaler gives an activator its own name and the address of its autoscaler.
func findsAutoscaler(env map[string]string, in workload.Instance, on func(string) (string, error)) (err error) {
	env["POD_NAME"], env["POD_IP"] = in.Pod.Name, in.IP
	env["LAB_AUTOSCALER"], err = on("autoscaler." + ServingNamespace + ":8080")
	return err
}

// findsContainer gives a queue-proxy a port of this computer that leads to the
// pod's own server, for requests and for its probe.
func findsContainer(env map[string]string, in workload.Instance, on func(string) (string, error)) error {
	at, err := on(net.JoinHostPort(in.IP, env["USER_PORT"]))
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		return err
	}
	var probe struct {
		HTTPGet map[string]any `json:"httpGet,omitempty"`
	}
	if err := json.Unmarshal([]byte(env["SERVING_READINESS_PROBE"]), &probe); err != nil {
		return fmt.Errorf("SERVING_READINESS_PROBE is not a probe: %w", err)
	}
	if probe.HTTPGet == nil {
		probe.HTTPGet = map[string]any{"path": "/"}
	}
	probe.HTTPGet["host"], probe.HTTPGet["port"] = "127.0.0.1", json.Number(port)
	text, err := json.Marshal(map[string]any{"httpGet": probe.HTTPGet, "successThreshold": 1})
	if err != nil {
		return err
	}
	env["USER_PORT"], env["SERVING_READINESS_PROBE"] = port, string(text)
	return nil
}
