package machine

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// logServer serves the logs of one pod, "web-1" with the container "main".
func logServer(t *testing.T) (*logs, func(query string) (*http.Response, string)) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-1", UID: "u"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	k := &kubelet{m: New(Config{Name: "node1"})}
	k.workers = map[types.UID]*worker{"u": newWorker(k, pod)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.containerLog)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &k.m.logs, func(query string) (*http.Response, string) {
		t.Helper()
		resp, err := server.Client().Get(server.URL + "/containerLogs/" + query)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(body)
	}
}

func TestAKubeletServesTheLogsOfItsContainers(t *testing.T) {
	l, get := logServer(t)
	const path = "default/web-1/main"
	for query, want := range map[string]string{
		path:                       "400 container \"main\" in pod \"web-1\" is waiting to start: ContainerCreating\n",
		path + "?previous=true":    "400 previous terminated container \"main\" in pod \"web-1\" not found\n",
		path + "?tailLines=many":   "400 ",
		"default/web-1/other":      "404 container \"other\" not found in pod \"web-1\"\n",
		"default/web-2/main":       "404 pod \"web-2\" does not exist\n",
		path + "?sinceTime=monday": "400 ",
	} {
		if resp, body := get(query); !strings.HasPrefix(fmt.Sprint(resp.StatusCode, " ", body), want) {
			t.Errorf("%s gave %d %q", query, resp.StatusCode, body)
		}
	}
	fmt.Fprint(l.begin("u", "main"), "before\n")
	log := l.begin("u", "main")
	fmt.Fprint(log, "one\ntwo\nthr")
	fmt.Fprint(log, "ee\n")
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for query, want := range map[string]string{
		"":                           "one\ntwo\nthree\n",
		"?tailLines=2":               "two\nthree\n",
		"?tailLines=0":               "",
		"?limitBytes=5":              "one\nt",
		"?previous=true":             "before\n",
		"?previous=true&follow=true": "before\n",
		"?sinceSeconds=60":           "one\ntwo\nthree\n",
		"?sinceTime=" + later:        "",
	} {
		if _, body := get(path + query); body != want {
			t.Errorf("%s gave %q, want %q", query, body, want)
		}
	}
	_, body := get(path + "?timestamps=true&tailLines=1")
	stamp, text, _ := strings.Cut(body, " ")
	if at, err := time.Parse(time.RFC3339Nano, stamp); err != nil || time.Since(at) > time.Minute || text != "three\n" {
		t.Errorf("with a timestamp: %q, %v", body, err)
	}
	l.drop("u")
	if resp, _ := get(path); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a dropped log gave %d", resp.StatusCode)
	}
}

func TestAFollowedLogEndsWithItsContainer(t *testing.T) {
	l, get := logServer(t)
	log := l.begin("u", "main")
	fmt.Fprintln(log, "one")
	got := make(chan string)
	go func() {
		_, body := get("default/web-1/main?follow=true")
		got <- body
	}()
	fmt.Fprintln(log, "two")
	fmt.Fprint(log, "without an end")
	l.end("u")
	fmt.Fprintln(log, "too late")
	if body := <-got; body != "one\ntwo\nwithout an end\n" {
		t.Errorf("got %q", body)
	}
}

func TestALogIsBounded(t *testing.T) {
	log := (&logs{}).begin("u", "main")
	for i := range 100_000 {
		fmt.Fprintf(log, "line %d\n", i)
	}
	fmt.Fprint(log, strings.Repeat("x", 100_000))
	lines, next, _ := log.From(0)
	size := 0
	for _, l := range lines {
		size += len(l.Text)
	}
	if size > 256<<10 || next < 100_000 || lines[0].Text == "line 0" {
		t.Errorf("%d lines of %d bytes, the next is %d", len(lines), size, next)
	}
	if last := lines[len(lines)-1].Text; len(last) != 16<<10 {
		t.Error("a line without an end is not cut")
	}
}
