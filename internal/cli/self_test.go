package cli

import (
	"slices"
	"strings"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/config"
)

// Behind a bastion, only the bastion's name service knows which machine a name means.
func TestLightsoutReportsAnAPIServerThatTheBastionCannotFind(t *testing.T) {
	client, err := newSSH(&config.Config{Bastion: "nobody@127.0.0.1:1"}, sshAsker{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	info := selfInfo(t.Context(), &config.Config{Bastion: "nobody@127.0.0.1:1"}, client, &cluster.Config{Context: "x", Server: "https://localhost:6443"})
	if !slices.ContainsFunc(info.Unknown, func(why string) bool { return strings.Contains(why, "API server localhost") }) {
		t.Errorf("%+v", info)
	}
}
