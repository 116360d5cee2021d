package config

import (
	"os"
	"testing"
)

// TestMain runs the tests in the repository's root, where bin and docs are.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// Parse reads a config. The error is its first fault.
func Parse(data []byte) (*Config, error) {
	c, _, faults := read(data)
	if len(faults) > 0 {
		return c, faults[0]
	}
	return c, nil
}
