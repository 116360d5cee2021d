package cli

import (
	"context"
	"strings"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/config"
)

// What of the way to the cluster can't be looked up is said, for the guards to
// ask about; it never counts as "not one of these machines".
func TestWhatOfTheWayIsNotKnownIsSaid(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	for want, access := range map[string]*cluster.Config{
		"set NODE_NAME":                       {Context: "in-cluster", Server: "https://10.0.0.1"},
		"addresses of the API server api.inv": {Context: "x", Server: "https://api.invalid:6443"},
	} {
		info := selfInfo(context.Background(), &config.Config{}, nil, access)
		if len(info.Unknown) != 1 || !strings.Contains(info.Unknown[0], want) {
			t.Errorf("%s: %q", access.Server, info.Unknown)
		}
	}
}
