package cluster

import (
	"log/slog"
	"testing"

	"lightsout/internal/testenv"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	SetLog(slog.New(slog.DiscardHandler))
	testenv.SideBySide(6) // they mostly wait
	goleak.VerifyTestMain(m)
}
