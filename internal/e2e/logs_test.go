package e2e

import (
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

// TestLogsOfTheLabOnTheScreen reads the log of a pod, and that of a pod on a node that has
// lost its power.
func TestLogsOfTheLabOnTheScreen(t *testing.T) {
	testenv.Long(t, 20)
	t.Parallel()
	l := labtest.Lease(t, "vagrant")
	config := l.ConfigWith(func(c map[string]any) { c["state"] = t.TempDir() })
	command := labtest.Program(t, "lightsout") + " " + strings.Join(args(l, config), " ")
	x := openTerminal(t, 120, 36, nil, command+"; echo exit $?; exec sleep 600")
	x.waitFor("the cluster", time.Minute, `3/3 ready`, `6/6\s+Running`)

	x.press("3", `l log`)
	x.keys("l")
	x.waitFor("the log of a pod", time.Minute, `Log of nginx, pod default/nginx-webserver-`, `\[notice\] 1#1: start worker processes`)
	x.press("Escape", `l log`)

	l.Post("/machines/k8s2/off")
	x.waitFor("the silence", time.Minute, `k8s2\s+NotReady`)
	x.keys("/")
	x.keys("k8s2")
	x.press("Enter", `/k8s2: \d+ of \d+`)
	x.keys("l")
	x.waitFor("the reason why there is no log", time.Minute, `Log of nginx, pod default/nginx-webserver-`, `its kubelet does not answer; is its node off\?`)
}
