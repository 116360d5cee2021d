package e2e

import (
	"os"
	"testing"

	"lightsout/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.SideBySide(3) // each starts a control plane, and then mostly waits for its clocks
	os.Exit(m.Run())
}
