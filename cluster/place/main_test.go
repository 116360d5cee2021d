package place

import (
	"os"
	"testing"

	"lightsout/internal/testenv"
)

// The worlds mostly wait for the control plane, so many run in parallel.
func TestMain(m *testing.M) {
	testenv.SideBySide(4)
	os.Exit(m.Run())
}
