package cluster

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	SetLog(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}
