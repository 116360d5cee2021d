package e2e

import (
	"os"
	"testing"

	"lightsout/internal/testenv"
)

// locks is the folder that docs/reference/commands.md names: all programs on a host share it.
const locks = "/tmp/lightsout-locks"

func TestMain(m *testing.M) {
	privateHost(locks)
	testenv.SideBySide(6) // they mostly wait; labtest bounds the labs
	// Tests without a cluster have no kubeconfig; the others name theirs.
	if err := os.Setenv("KUBECONFIG", "/no-such-kubeconfig"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
