package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
)

// TestARecordingGoesOnInAnotherPlace begins a recording by the key and goes to
// another context: it goes on in a file of its own, which is said; ended by the
// key, it does not begin again.
func TestARecordingGoesOnInAnotherPlace(t *testing.T) {
	t.Parallel()
	dir, server := t.TempDir(), "https://"+refusing(t)
	config := write(t, "kubeconfig", `apiVersion: v1
kind: Config
current-context: one
clusters: [{name: test, cluster: {server: "`+server+`"}}]
users: [{name: test, user: {token: s3cret-token}}]
contexts: [{name: one, context: {cluster: test, user: test}}, {name: two, context: {cluster: test, user: test}}]
`)
	x := openTerminal(t, 120, 36, nil, "cd "+dir+" && "+labtest.Program(t, "lightsout")+" --kubeconfig "+config+" --state "+filepath.Join(dir, "state")+"; echo exit $?; read x")
	const long = time.Minute
	to := func(context string) {
		t.Helper()
		x.waitFor("the screen", long, "lost")
		x.keys(":")
		x.waitFor("the palette", long, "─ Commands ─")
		x.keys("-l", "ctx "+context)
		x.waitFor("the context", long, "ctx "+context+`[\s\S]*ctx `+context)
		x.keys("Enter")
		x.waitFor("the other context", long, "lightsout  "+context)
	}
	x.waitFor("the screen", long, "lightsout  one")
	x.keys("C-r")
	x.waitFor("the recording", long, "● rec", `recorded to lightsout-\w+\.cast`)
	to("two")
	x.waitFor("the recording going on", long, "● rec", `recorded to lightsout-\w+-2\.cast`)
	x.keys("C-r")
	x.wait("the end of the recording", long, func(s string) bool { return !strings.Contains(s, "● rec") })
	to("one")
	x.keys("q")
	x.waitFor("the end", long, "exit 0")
	for pattern, want := range map[string]int{"*.cast": 2, "*-2.cast": 1} {
		if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) != want {
			t.Errorf("%s: %d files", pattern, len(found))
		}
	}
}
