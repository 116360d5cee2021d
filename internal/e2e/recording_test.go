package e2e

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

// TestARecordingGoesOnInAnotherPlace begins a recording by the key and goes to
// another context: it goes on in a file of its own, which is said; ended by the
// key, it does not begin again.
func TestARecordingGoesOnInAnotherPlace(t *testing.T) {
	t.Parallel()
	dir, server := t.TempDir(), "https://"+testenv.Refusing(t)
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
		x.waitFor("the screen", long, "disconnected")
		x.keys(":")
		x.waitFor("the palette", long, "─ Commands ─")
		x.keys("-l", "ctx "+context)
		x.waitFor("the context", long, "ctx "+context+`[\s\S]*ctx `+context)
		x.keys("Enter")
		x.answer("Go to context "+context+"?", "Go there")
		x.waitFor("the other context", long, "lightsout  "+context)
	}
	x.waitFor("the screen", long, "lightsout  one")
	x.keys("C-r")
	x.waitFor("the recording", long, "● rec", `recording the screen to `)
	to("two")
	x.waitFor("the recording going on", long, "● rec", `recording the screen to `)
	x.keys("C-r")
	x.wait("the end of the recording", long, func(s string) bool { return !strings.Contains(s, "● rec") })
	to("one")
	x.keys("q")
	x.waitFor("the end", long, "exit 0")
	var casts []string // beside the records
	if err := filepath.WalkDir(filepath.Join(dir, "state"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".cast" {
			casts = append(casts, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(casts) != 2 || !slices.ContainsFunc(casts, func(path string) bool { return strings.HasSuffix(path, "-2.cast") }) {
		t.Errorf("the recordings are %v", casts)
	}
}
