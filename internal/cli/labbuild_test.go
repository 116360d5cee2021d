package cli

import (
	"strings"
	"testing"
)

func TestTheBuildOfALabReportsProgressAndErrors(t *testing.T) {
	b, err := startLabBuild(`echo "go: downloading x v1"; echo "packages: 3"; echo k8s.io/a; echo "# k8s.io/b"; echo "b.go:3:1: broken"; echo k8s.io/c >&2; exit 3`)
	if err != nil {
		t.Fatal(err)
	}
	<-b.over.Done()
	if got := b.progress(); !strings.Contains(got, "2 of 3 packages") {
		t.Error(got)
	}
	if b.err == nil || !strings.Contains(b.err.Error(), "b.go:3:1: broken") || strings.Contains(b.err.Error(), "k8s.io/a") {
		t.Error(b.err)
	}
	b.stop() // has no effect any more
	if b, err = startLabBuild("sleep 600; true"); err != nil {
		t.Fatal(err)
	}
	b.stop()
	if b.err == nil {
		t.Error("a build that was stopped is told as done")
	}
}
