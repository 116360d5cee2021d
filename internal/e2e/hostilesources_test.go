package e2e

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// planted are texts that none of a program's outputs may hold as they are, each
// with a plain word by which it is known.
const (
	escapes   = "\x1b]0;planted-title\x07\x1b[31;7;5mplanted\x1b[2J\x1b[6n\u009b5m\u0090q\u009c\r\n\x00\x7f"
	marks     = "\u202e\u2066\u200f\u2069\ufeff\u200bplanted"
	combining = "planted" + "e\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a\u030b\u030c\u030d\u030e\u030f\u0310\u0311\u0312\u0313\u0314"
)

// hostile is all of it in one text, the longest part of it at the end.
var hostile = escapes + marks + combining + strings.Repeat("planted", 10_000/7)

// lookAt fails for every part of what was planted that has left by an output.
func lookAt(t *testing.T, by, text string) {
	t.Helper()
	for what, bad := range map[string]string{
		"the escape of a title": "\x1b]0;planted", "escapes": "\x1b[31;7;5m", "a question to the terminal": "\x1b[6n", "C1 controls": "\u009b", "C1 strings": "\u0090",
		"a raw C1 control": "\x9b5m", "a mark that turns the text around": "\u202e", "an isolate": "\u2066", "a right-to-left mark": "\u200f",
		"a blank of no width": "\u200b", "a byte order mark": "\ufeff", "NUL": "\x00",
		"many combining marks": "\u0301\u0302\u0303", "a text without end": strings.Repeat("planted", 500),
		"an escape for SVG": "&#x1b;", "a program's failure": "goroutine 1 [",
	} {
		if i := strings.Index(text, bad); i >= 0 {
			t.Errorf("%s: %s: …%.200q", by, what, text[max(0, i-80):])
		}
	}
}

// hostileAPI is an API server whose every text is hostile.
func hostileAPI(t *testing.T) *httptest.Server {
	meta := func(name, namespace string) map[string]any {
		return map[string]any{"name": name, "namespace": namespace, "uid": "uid-" + name, "resourceVersion": "5", "creationTimestamp": "2026-01-01T00:00:00Z",
			"annotations": map[string]any{"lightsout.dev/machine": hostile, "lightsout.dev/switched-off": hostile}, "labels": map[string]any{"app": "web", hostile: hostile}}
	}
	node := func(name, address string) map[string]any {
		return map[string]any{"metadata": meta(name, ""), "spec": map[string]any{"providerID": hostile, "taints": []any{map[string]any{"key": hostile, "value": hostile, "effect": "NoExecute"}}},
			"status": map[string]any{
				"addresses":  []any{map[string]any{"type": "InternalIP", "address": address}, map[string]any{"type": "Hostname", "address": hostile}},
				"conditions": []any{map[string]any{"type": "Ready", "status": "False", "reason": hostile, "message": hostile}},
				"nodeInfo":   map[string]any{"kubeletVersion": hostile, "osImage": hostile, "bootID": hostile},
			}}
	}
	pod := func(name, node string) map[string]any {
		m := meta(name, "default")
		m["ownerReferences"] = []any{map[string]any{"kind": "ReplicaSet", "name": "web-1", "uid": "uid-web-1", "controller": true, "apiVersion": "apps/v1"}}
		return map[string]any{"metadata": m, "spec": map[string]any{"nodeName": node, "containers": []any{map[string]any{"name": hostile, "image": hostile}}},
			"status": map[string]any{"phase": "Running", "reason": hostile, "message": hostile, "conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": hostile, "message": hostile}},
				"containerStatuses": []any{map[string]any{"name": hostile, "ready": false, "restartCount": 3, "image": hostile, "state": map[string]any{"waiting": map[string]any{"reason": hostile, "message": hostile}}}}}}
	}
	set := meta("web-1", "default")
	set["ownerReferences"] = []any{map[string]any{"kind": "Deployment", "name": "web", "uid": "uid-web", "controller": true, "apiVersion": "apps/v1"}}
	deployment := func(name string) map[string]any {
		return map[string]any{"metadata": meta(name, "default"), "spec": map[string]any{"replicas": 2, "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}},
			"status": map[string]any{"replicas": 2, "conditions": []any{map[string]any{"type": "Progressing", "status": "False", "reason": hostile, "message": hostile}}}}
	}
	lists := map[string][]any{
		"NodeList v1 nodes": {node("n1", "127.0.0.1"), node(hostile, hostile)}, "PodList v1 pods": {pod("web-a", "n1"), pod(hostile, hostile)},
		"DeploymentList apps/v1 deployments":                   {deployment("web"), deployment(hostile)},
		"ReplicaSetList apps/v1 replicasets":                   {map[string]any{"metadata": set, "spec": map[string]any{"replicas": 2}}},
		"EndpointSliceList discovery.k8s.io/v1 endpointslices": {}, "LeaseList coordination.k8s.io/v1 leases": {}, "EventList v1 events": {},
	}
	event := map[string]any{"type": "ADDED", "object": map[string]any{"kind": "Event", "apiVersion": "v1", "metadata": meta(hostile, "default"), "type": "Warning", "reason": hostile, "message": hostile,
		"involvedObject": map[string]any{"kind": "Pod", "name": hostile, "namespace": "default"}, "source": map[string]any{"component": hostile}}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		path, answer := strings.TrimSuffix(r.URL.Path, "/"), json.NewEncoder(w)
		switch {
		case path == "/readyz":
		case path == "/version":
			fmt.Fprint(w, `{"major":"1","minor":"30","gitVersion":"v1.30.0"}`)
		case strings.Contains(path, "/proxy/"):
			fmt.Fprint(w, "requests_processing "+hostile+"\n")
		case strings.HasSuffix(path, "selfsubjectaccessreviews"):
			fmt.Fprint(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`)
		case r.URL.Query().Get("watch") != "":
			if strings.HasSuffix(path, "events") {
				_ = answer.Encode(event)
			}
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			for kind, items := range lists {
				f := strings.Fields(kind)
				if strings.HasSuffix(path, "/"+f[2]) {
					_ = answer.Encode(map[string]any{"kind": f[0], "apiVersion": f[1], "metadata": map[string]any{"resourceVersion": "5"}, "items": items})
					return
				}
			}
			w.WriteHeader(http.StatusNotFound)
			_ = answer.Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": hostile, "reason": hostile, "code": 404})
		}
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// hostilePortal is a power API whose every text is hostile, and a service.
func hostilePortal(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(escapes + marks)
		w.Header().Set("Server", header)
		answer := json.NewEncoder(w)
		vm := map[string]any{"uuid": "u1", "name": "n1", "status": hostile, "service_level": hostile,
			"service_networks": []any{map[string]any{"ipv4_address": []string{"127.0.0.1", hostile}}}}
		switch {
		case strings.Contains(r.URL.Path, "/project/assigned"):
			_ = answer.Encode([]any{map[string]any{"projects": []any{map[string]any{"uuid": "p", "name": "p"}}}})
		case strings.Contains(r.URL.Path, "/vm/project"):
			_ = answer.Encode(map[string]any{"results": []any{vm, map[string]any{"uuid": hostile, "name": hostile, "status": hostile}}})
		case strings.HasPrefix(r.URL.Path, "/api/vm/u1") && r.Method == http.MethodGet:
			_ = answer.Encode(vm)
		case strings.HasPrefix(r.URL.Path, "/api/"):
			w.WriteHeader(http.StatusConflict)
			_ = answer.Encode(map[string]any{"detail": hostile})
		default:
			w.Header().Set("Location", "/"+header)
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, hostile)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// hostileSSH is an ssh server with a hostile banner, which answers every command
// with hostile words, and its line for known_hosts.
func hostileSSH(t *testing.T) (address, known string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &ssh.ServerConfig{NoClientAuth: true, BannerCallback: func(ssh.ConnMetadata) string { return hostile },
		PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
	cfg.AddHostKey(signer)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go answerHostile(c, cfg)
		}
	}()
	t.Cleanup(func() { ln.Close() })
	address = ln.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	return address, "[127.0.0.1]:" + port + " " + string(ssh.MarshalAuthorizedKey(signer.PublicKey()))
}

func answerHostile(c net.Conn, cfg *ssh.ServerConfig) {
	defer c.Close()
	_, channels, requests, err := ssh.NewServerConn(c, cfg)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		if offered.ChannelType() != "session" {
			_ = offered.Reject(ssh.Prohibited, hostile)
			continue
		}
		ch, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go func() {
			defer ch.Close()
			for r := range requests {
				_ = r.Reply(r.Type == "exec", nil)
				if r.Type == "exec" {
					fmt.Fprint(ch, hostile)
					fmt.Fprint(ch.Stderr(), hostile)
					_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{1}))
					return
				}
			}
		}()
	}
}
