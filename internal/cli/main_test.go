package cli

import (
	"os"
	"testing"
)

// TestMain runs the tests in the repository's root, where bin and docs are.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Main("test"))
	}
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
