package e2e

import (
	"flag"
	"os"
	"testing"
)

// sideBySide is how many tests run at once, unless -parallel says otherwise:
// most of the time they wait for what the lab does by its own clocks.
const sideBySide = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		_ = flag.Set("test.parallel", sideBySide)
	}
	os.Exit(m.Run())
}
