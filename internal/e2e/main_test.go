package e2e

import (
	"os"
	"testing"

	"lightsout/internal/testenv"
)

// locks is the folder that docs/reference/commands.md names: all programs on a host share it.
const locks = "/tmp/lightsout-locks"

func TestMain(m *testing.M) {
	testenv.PrivateHost(locks)
	testenv.SideBySide(3) // each starts a control plane, and then mostly waits for its clocks
	// Tests without a cluster have no kubeconfig; the others name theirs.
	if err := os.Setenv("KUBECONFIG", "/no-such-kubeconfig"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
