package e2e

import (
	"os"
	"testing"

	"lightsout/internal/testenv"
)

// registers is the folder that docs/reference/commands.md names: its register of machines
// that are off is the same for all programs on a host.
const registers = "/tmp/lightsout-locks"

func TestMain(m *testing.M) {
	testenv.PrivateHost(registers)
	testenv.SideBySide(3) // each starts a control plane, and then mostly waits for its clocks
	// Tests without a cluster have no kubeconfig; the others name theirs.
	if err := os.Setenv("KUBECONFIG", "/no-such-kubeconfig"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
