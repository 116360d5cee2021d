package cluster

import (
	"log/slog"
	"os"
	"testing"

	"lightsout/internal/testenv"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == PluginArg {
		os.Exit(Plugin(os.Args[2:]))
	}
	SetLog(slog.New(slog.DiscardHandler))
	testenv.SideBySide(6) // they mostly wait
	goleak.VerifyTestMain(m)
}
