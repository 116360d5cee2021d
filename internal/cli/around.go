package cli

import (
	"cmp"
	"context"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// around lists the other places: the kubeconfig's contexts and the cluster's
// namespaces.
type around struct {
	opt    options
	config *config.Config
	api    *cluster.Client
}

// Scopes returns the names that are known; of namespaces none where the account
// may not list them.
func (a around) Scopes(ctx context.Context) view.Scopes {
	namespaces, _ := a.api.Namespaces(ctx)
	return view.Scopes{Contexts: cluster.Contexts(a.config.Kubeconfig), Namespaces: namespaces}
}

// Check returns the reason why the screen cannot show a scope.
func (a around) Check(p view.Scope) error {
	cfg, err := a.opt.at(p).Read()
	if err == nil {
		_, err = apiAccess(cfg, nil)
	}
	return err
}

// Command is the command that shows a scope beside this session, which has the machines.
func (a around) Command(p view.Scope) string {
	namespaces := map[bool]string{true: "-A", false: "-n " + text.ShellWord(p.NamespacesText())}[len(p.Namespaces) == 0]
	return a.opt.at(p).CommandLine(namespaces+" --read-only", a.config)
}

// at are the options for another scope. With another context its namespaces are all if they
// were, and otherwise the config file's. Who goes there has the keys.
func (o options) at(p view.Scope) options {
	o.beside = nil
	o.AllNamespaces = len(p.Namespaces) == 0 && (p.Context == "" || o.AllNamespaces)
	o.Context, o.Namespaces = cmp.Or(p.Context, o.Context), p.Namespaces
	return o
}
