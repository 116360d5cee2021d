package workload

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lightsout/cluster/lab/network"
)

const podIP = "10.244.1.2"

// run starts a program in a pod of its own and returns a client of it.
func run(t *testing.T, p Program, env map[string]string, args ...string) (*http.Client, *network.Host, Process) {
	t.Helper()
	n := network.New()
	node := n.AddHost("node1", "10.0.0.11")
	node.AddIP(podIP)
	laptop := n.AddHost("laptop", "10.0.0.1")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod-1"},
		Spec:       corev1.PodSpec{NodeName: "node1", Containers: []corev1.Container{{Name: "main", Args: args}}},
	}
	ctx, cancel := context.WithCancel(context.Background())
	proc, err := p(ctx, Instance{Pod: pod, Container: &pod.Spec.Containers[0], IP: podIP, Host: node, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: laptop.DialContext}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		proc.Stop(ctx)
	})
	return &http.Client{Transport: transport}, node, proc
}

func send(t *testing.T, c *http.Client, method, path, key, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+podIP+":8080"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

var quick = LlamaTiming{Token: time.Millisecond}

const hello = `{"model":"m","messages":[{"role":"user","content":"two words"}]`

// events reads a stream's data lines to its end.
func events(t *testing.T, body io.Reader) []string {
	t.Helper()
	var out []string
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			out = append(out, data)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

type chunk struct {
	Choices []struct {
		Delta        map[string]string `json:"delta"`
		FinishReason *string           `json:"finish_reason"`
		Message      struct{ Role, Content string }
	}
	Usage map[string]int
}

func parse(t *testing.T, data string) chunk {
	t.Helper()
	var c chunk
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return c
}

func TestChatStreamsRoleTokensFinishUsageDone(t *testing.T) {
	c, _, _ := run(t, Llama(quick), nil)
	resp := send(t, c, "POST", "/v1/chat/completions", "", hello+`,"stream":true,"max_tokens":5,"stream_options":{"include_usage":true}}`)
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || ct != "text/event-stream" {
		t.Fatalf("status %d, content type %q", resp.StatusCode, ct)
	}
	got := events(t, resp.Body)
	if len(got) != 1+5+1+1+1 {
		t.Fatalf("%d events: %q", len(got), got)
	}
	if role := parse(t, got[0]).Choices[0].Delta["role"]; role != "assistant" {
		t.Errorf("first event has role %q", role)
	}
	for _, e := range got[1:6] {
		if parse(t, e).Choices[0].Delta["content"] == "" {
			t.Errorf("event without a token: %s", e)
		}
	}
	if f := parse(t, got[6]).Choices[0].FinishReason; f == nil || *f != "length" {
		t.Errorf("finish reason in %s", got[6])
	}
	if u := parse(t, got[7]); len(u.Choices) != 0 || u.Usage["completion_tokens"] != 5 || u.Usage["total_tokens"] != 7 {
		t.Errorf("usage in %s", got[7])
	}
	if got[8] != "[DONE]" {
		t.Errorf("last event %q", got[8])
	}
}

func TestChatInOnePiece(t *testing.T) {
	c, _, _ := run(t, Llama(quick), nil)
	resp := send(t, c, "POST", "/v1/chat/completions", "", hello+`}`)
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := parse(t, string(data))
	if got.Usage["completion_tokens"] != defaultTokens || got.Choices[0].Message.Content == "" || *got.Choices[0].FinishReason != "stop" {
		t.Errorf("answer %s", data)
	}
}

func TestLlamaRefusals(t *testing.T) {
	c, _, _ := run(t, Llama(quick), map[string]string{"LLAMA_API_KEY": "sk-right"})
	for _, test := range []struct {
		method, path, key, body string
		want                    int
	}{
		{"GET", "/health", "", "", 200},
		{"GET", "/v1/models", "", "", 200},
		{"GET", "/slots", "", "", 401},
		{"GET", "/slots", "sk-right", "", 200},
		{"POST", "/v1/chat/completions", "", hello + "}", 401},
		{"POST", "/v1/chat/completions", "sk-wrong", hello + "}", 401},
		{"POST", "/v1/chat/completions", "sk-right", hello, 400},
		{"POST", "/v1/chat/completions", "sk-right", `{"messages":[]}`, 400},
		{"GET", "/nowhere", "sk-right", "", 404},
	} {
		resp := send(t, c, test.method, test.path, test.key, test.body)
		if resp.StatusCode != test.want {
			t.Errorf("%s %s with key %q: status %d, want %d", test.method, test.path, test.key, resp.StatusCode, test.want)
		}
	}
}

func TestLlamaIsUnavailableWhileTheModelLoads(t *testing.T) {
	c, _, _ := run(t, Llama(LlamaTiming{Load: time.Hour}), nil)
	for _, path := range []string{"/health", "/v1/models", "/slots"} {
		resp := send(t, c, "GET", path, "", "")
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 503 || !strings.Contains(string(text), "Loading model") {
			t.Errorf("%s: status %d, %s", path, resp.StatusCode, text)
		}
	}
}

func TestSecondRequestWaitsForTheSlotWithoutAByte(t *testing.T) {
	c, _, _ := run(t, Llama(LlamaTiming{Token: time.Hour}), nil)
	first, cancelFirst := context.WithCancel(t.Context())
	body := hello + `,"stream":true}`
	start := func(ctx context.Context) (*http.Response, error) {
		req, _ := http.NewRequestWithContext(ctx, "POST", "http://"+podIP+":8080/v1/chat/completions", strings.NewReader(body))
		return c.Do(req)
	}
	resp, err := start(first) // returns at the role chunk: it has the slot
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	second := make(chan error, 1)
	go func() {
		resp, err := start(t.Context())
		if err == nil {
			resp.Body.Close()
		}
		second <- err
	}()
	var slots []struct {
		Processing bool `json:"is_processing"`
	}
	if err := json.NewDecoder(send(t, c, "GET", "/slots", "", "").Body).Decode(&slots); err != nil || len(slots) != 1 || !slots[0].Processing {
		t.Fatalf("slots %v, %v", slots, err)
	}
	if full := send(t, c, "GET", "/slots?fail_on_no_slot=1", "", ""); full.StatusCode != 503 {
		t.Errorf("no slot is free, status %d", full.StatusCode)
	}
	select {
	case err := <-second:
		t.Fatalf("the second request was answered while the slot was taken: %v", err)
	default:
	}
	cancelFirst() // the client goes away, the slot is free
	if err := <-second; err != nil {
		t.Fatal(err)
	}
}

func TestStopLetsRequestsEnd(t *testing.T) {
	c, _, proc := run(t, Llama(LlamaTiming{Token: 20 * time.Millisecond}), nil)
	resp := send(t, c, "POST", "/v1/chat/completions", "", hello+`,"stream":true,"max_tokens":10}`)
	go proc.Stop(context.Background())
	if got := events(t, resp.Body); got[len(got)-1] != "[DONE]" {
		t.Errorf("the answer was cut: last event %q", got[len(got)-1])
	}
}

func TestKillClosesConnections(t *testing.T) {
	c, _, proc := run(t, Llama(LlamaTiming{Token: time.Hour}), nil)
	resp := send(t, c, "POST", "/v1/chat/completions", "", hello+`,"stream":true}`)
	dead, cancel := context.WithCancel(context.Background())
	cancel()
	proc.Stop(dead)
	if _, err := io.ReadAll(resp.Body); err != io.ErrUnexpectedEOF {
		t.Errorf("reading a killed server's answer gave %v", err)
	}
}

func TestNginxSaysWhoAnswers(t *testing.T) {
	c, _, _ := run(t, Nginx, nil, "--port", "8080")
	resp := send(t, c, "GET", "/", "", "")
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || resp.Header.Get("X-Pod-Name") != "pod-1" || !strings.Contains(string(text), "pod-1") {
		t.Errorf("status %d, header %q, page %s", resp.StatusCode, resp.Header.Get("X-Pod-Name"), text)
	}
	if resp := send(t, c, "GET", "/missing", "", ""); resp.StatusCode != 404 {
		t.Errorf("a missing page has status %d", resp.StatusCode)
	}
}

func TestImagesAreFoundWithoutTagOrDigest(t *testing.T) {
	images := Images{"registry:5000/a/b": Idle}
	for _, image := range []string{"registry:5000/a/b", "registry:5000/a/b:v1", "registry:5000/a/b@sha256:00"} {
		if _, ok := images.Find(image); !ok {
			t.Errorf("%s is not found", image)
		}
	}
	if _, ok := images.Find("registry:5000/a"); ok {
		t.Error("found an image that is not there")
	}
}

func TestProgramsWriteTheLogsThatRealOnesDo(t *testing.T) {
	for name, tc := range map[string]struct {
		program Program
		args    []string
		method  string
		path    string
		body    string
		want    string
	}{
		"nginx": {Nginx, []string{"--port", "8080"}, "GET", "/", "", `^10\.0\.0\.1 - - \[[^]]+\] "GET / HTTP/1\.1" 200 \d+ "-" "Go-http-client/1\.1"$`},
		"llama": {Llama(LlamaTiming{}), nil, "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"max_tokens":1}`,
			`^srv  log_server_r: done request: POST /v1/chat/completions 10\.0\.0\.1 200$`},
	} {
		t.Run(name, func(t *testing.T) {
			log := &Log{}
			withLog := func(ctx context.Context, in Instance) (Process, error) {
				in.Log = log
				return tc.program(ctx, in)
			}
			c, node, _ := run(t, withLog, nil, tc.args...)
			send(t, c, "GET", "/health", "", "")
			io.Copy(io.Discard, send(t, c, tc.method, tc.path, "", tc.body).Body)
			re := regexp.MustCompile(tc.want)
			found := func() bool {
				lines, _, _ := log.From(0)
				return slices.ContainsFunc(lines, func(l Line) bool { return re.MatchString(l.Text) })
			}
			for end := time.Now().Add(time.Minute); !found(); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					lines, _, _ := log.From(0)
					t.Fatalf("no line is like %s: %v", tc.want, lines)
				}
			}
			_, before, _ := log.From(0)
			node.Cut()
			Instance{Host: node, Log: log}.printf("written without power")
			if _, after, _ := log.From(0); after != before {
				t.Error("a machine without power wrote into a log")
			}
		})
	}
}
