package e2e

import (
	"os"
	"testing"

	"lightsout/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.SideBySide(6) // mostly they wait for what the lab does by its own clocks
	os.Exit(m.Run())
}
