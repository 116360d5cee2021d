package e2e

import (
	"os"
	"testing"

	"lightsout/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.SideBySide(6) // most of the time they wait for what the lab does by its own clocks
	os.Exit(m.Run())
}
