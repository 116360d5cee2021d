//go:build linux

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"lightsout/internal/labtest"
)

// fault is something that goes wrong and is put right again.
type fault struct {
	name        string
	begin, over func() error
}

// faults are those that a soak draws from; each is over when it is undone.
func (s *soak) faults() []fault {
	component := func(name, did, undo string) fault {
		do := func(action string) func() error {
			return func() error { return s.ask(http.MethodPost, "/components/"+name+"/"+action, "") }
		}
		return fault{name + ": " + did, do(did), do(undo)}
	}
	signal := func(pid int, sig syscall.Signal) func() error {
		return func() error { return syscall.Kill(pid, sig) }
	}
	void := func(f func()) func() error { return func() error { f(); return nil } }
	nothing := void(func() {})
	all := []fault{
		component("kube-apiserver", "stop", "cont"),
		component("kube-apiserver", "kill", "start"),
		component("etcd", "stop", "cont"),
		component("kube-controller-manager", "stop", "cont"),
		{"API server slow", s.stutter, nothing},
		{"bastion cut", void(s.way.cut), nothing},
		{"bastion frozen", void(s.way.freeze), void(s.way.thaw)},
		{"bastion slow", void(func() { s.way.slow(300 * time.Millisecond) }), void(func() { s.way.slow(0) })},
		{"portal busy", func() error {
			return s.ask(http.MethodPost, "/faults", `{"target": "portal", "status": 503}`)
		}, func() error { return s.ask(http.MethodDelete, "/faults", "") }},
		{"terminal not read", signal(s.tmux, syscall.SIGSTOP), signal(s.tmux, syscall.SIGCONT)},
		{"terminal resized", s.resize, nothing},
		{"program stopped", signal(s.pid, syscall.SIGSTOP), signal(s.pid, syscall.SIGCONT)},
	}
	if s.small {
		full := filepath.Join(s.state, "full")
		all = append(all, fault{"disk full", func() error { return fillDisk(full) }, func() error { return os.Remove(full) }})
	}
	return all
}

// stutter lets the API server work for one moment in three.
func (s *soak) stutter() error {
	for range 5 {
		if err := s.ask(http.MethodPost, "/components/kube-apiserver/stop", ""); err != nil {
			return err
		}
		time.Sleep(time.Second)
		if err := s.ask(http.MethodPost, "/components/kube-apiserver/cont", ""); err != nil {
			return err
		}
		time.Sleep(500 * time.Millisecond)
	}
	return nil
}

// resize gives the terminal many sizes, one after the other.
func (s *soak) resize() error {
	size := func(w, h int) error {
		return exec.Command("tmux", "-S", s.x.socket, "resize-window", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h)).Run()
	}
	for range 100 {
		if err := size(1+rand.IntN(250), 1+rand.IntN(80)); err != nil {
			return err
		}
	}
	return size(soakWidth, soakHeight)
}

// fillDisk leaves no room where path is.
func fillDisk(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for len(block) > 0 {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	return nil
}

// breakThings draws faults, one after the other, until ctx ends. What is broken
// is put right before it returns.
func (s *soak) breakThings(ctx context.Context) {
	all := s.faults()
	for rest := range s.pauses(ctx, 5*time.Second, 15*time.Second) {
		f := all[rand.IntN(len(all))]
		s.note("fault: " + f.name)
		began := f.begin()
		rest(2*time.Second, 12*time.Second)
		// The lab itself may be what does not answer for a moment.
		err := f.over()
		for i := 0; err != nil && i < 50; i++ {
			time.Sleep(200 * time.Millisecond)
			err = f.over()
		}
		if began != nil || err != nil {
			s.t.Errorf("fault %s: %v, %v", f.name, began, err)
		}
	}
}

// churn has pods deleted and rollouts restarted until ctx ends. The API server
// may well not answer.
func (s *soak) churn(ctx context.Context, api *labtest.API) {
	const pods = "/api/v1/namespaces/default/pods"
	for range s.pauses(ctx, 2*time.Second, 8*time.Second) {
		if rand.IntN(3) == 0 {
			patch := map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
				"annotations": map[string]any{"soak": fmt.Sprint(time.Now().UnixNano())}}}}}
			if api.Try(http.MethodPatch, "/apis/apps/v1/namespaces/default/deployments/nginx-webserver", patch, nil) == nil {
				s.note("churn: rollout")
			}
			continue
		}
		var list struct {
			Items []struct{ Metadata struct{ Name string } }
		}
		if api.Try(http.MethodGet, pods, nil, &list) != nil || len(list.Items) == 0 {
			continue
		}
		name := list.Items[rand.IntN(len(list.Items))].Metadata.Name
		if api.Try(http.MethodDelete, pods+"/"+name, nil, nil) == nil {
			s.note("churn: pod deleted")
		}
	}
}

// pauses yields after each pause of a random length until ctx ends; what it
// yields makes a pause of its own.
func (s *soak) pauses(ctx context.Context, least, most time.Duration) func(func(func(least, most time.Duration)) bool) {
	pause := func(least, most time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(least + rand.N(most-least)):
		}
	}
	return func(yield func(func(least, most time.Duration)) bool) {
		for {
			if pause(least, most); ctx.Err() != nil || !yield(pause) {
				return
			}
		}
	}
}
