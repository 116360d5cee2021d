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
	os.Exit(m.Run())
}
