package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/power"
)

// today returns the restoration of the cluster to which the configuration leads now, for the
// annotations there; nil if one of all reads them. A restoration of the journal's entries
// does not if they are of another cluster at the same address, or name a context that the
// kubeconfig no longer has, or another config file.
func (o options) today(all []*restoration) *restoration {
	cfg, err := o.Read()
	if err != nil {
		return nil // restorations reports it
	}
	here, err := clusterHere(cfg)
	if err != nil {
		return nil
	}
	reads := func(r *restoration) bool {
		return !r.noWay && r.of.Name == here.Name && r.journal.Config() == o.AbsPath() && r.of.Same(here)
	}
	if slices.ContainsFunc(all, reads) {
		return nil
	}
	state, err := cfg.StateDir()
	if err != nil {
		return nil
	}
	f := restorationFinder{options: o, all: all}
	r, _ := newRestoration(o, state, here, o.AbsPath(), f.fits(here))
	return r
}

// api connects to the cluster of the entries: it takes the context of that name if the
// kubeconfig describes the same cluster.
func (r *restoration) api() (*cluster.Client, error) {
	if r.client == nil {
		return nil, errNoSettings
	}
	if r.server != nil {
		return r.server, nil
	}
	access, err := r.access()
	if err != nil {
		return nil, noWayError{err}
	}
	if r.of.UID == "" && !clusterOf(access).Same(r.of) { // otherwise proven compares the UID
		return nil, r.elsewhere()
	}
	r.server, err = cluster.NewClient(access)
	return r.server, err
}

// access returns how the configuration leads to the cluster: by the context of that name, or
// by its current one if the kubeconfig has none of that name and describes the same cluster.
func (r *restoration) access() (*cluster.Config, error) {
	cfg := *r.config
	cfg.Context = cmp.Or(r.of.Name, cfg.Context)
	access, err := apiAccess(&cfg, bastionDialer(r.client))
	if err == nil {
		return access, nil
	}
	current, none := apiAccess(r.config, bastionDialer(r.client))
	if none == nil && clusterOf(current).Same(r.of) {
		return current, nil
	}
	return nil, err
}

// proven is api with a check: the API server must confirm that it belongs to the same
// cluster.
func (r *restoration) proven(ctx context.Context) (*cluster.Client, error) {
	api, err := r.api()
	if err != nil {
		return nil, err
	}
	if r.certain {
		return api, nil
	}
	id, err := api.Identity(ctx)
	is := identified(r.of.Name, id)
	switch {
	case !r.of.Same(is):
		return nil, cmp.Or[error](err, r.elsewhere())
	case r.of.UID != "" && is.UID == "": // a tunnel may lead to another cluster
		return nil, fmt.Errorf("lightsout cannot tell whether this is the cluster in the journal: %w", err)
	}
	r.certain = r.of.UID+r.of.CA != "" && r.of.ProvesNode(is)
	r.journal.Identify(is)
	return api, nil
}

// nodes lists the nodes of the cluster from its API server.
func (r *restoration) nodes(ctx context.Context) ([]*cluster.Node, error) {
	ctx, end := within(ctx, nodesWait, "waiting for the API server of cluster "+power.Clean(cmp.Or(r.of.Name, "(unnamed)")))
	defer end()
	api, err := r.proven(ctx)
	if err != nil {
		return nil, err
	}
	return api.Nodes(ctx)
}

// noWayError reports that the configuration has no API server for a cluster.
type noWayError struct{ error }

// Unwrap returns the reason.
func (e noWayError) Unwrap() error { return e.error }

// elsewhereError reports that the configuration leads to another cluster than the one
// whose machines were switched off.
type elsewhereError struct{ context string }

func (e elsewhereError) Error() string {
	return fmt.Sprintf("the context %s leads to another cluster now", power.Clean(cmp.Or(e.context, "(unnamed)")))
}

func (r *restoration) elsewhere() error { return noWayError{elsewhereError{r.of.Name}} }

// settingsWait bounds the wait for the API server's answer to which cluster it is.
const settingsWait = 3 * time.Second

// withhold leaves alone the machines of a cluster to which the configuration does not
// lead any more: its drivers may name machines of another cluster. named are the nodes
// that the operator chose. If the API server does not answer, it withholds nothing.
func (r *restoration) withhold(ctx context.Context, named []string) {
	if len(r.left)+len(r.late)+len(r.cordoned) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settingsWait)
	defer cancel()
	_, err := r.proven(ctx)
	r.unanswered = ctx.Err() != nil
	r.noWay = errors.As(err, &noWayError{})
	if elsewhere := (elsewhereError{}); !errors.As(err, &elsewhere) {
		return
	}
	var late []string
	for _, l := range r.late {
		late = append(late, l.Node)
	}
	if len(late) > 0 {
		r.why = fmt.Errorf("lightsout did not poll %s, which may be off by a request that the power API refused or carries out late, because %w: restore with the settings of cluster %s",
			strings.Join(late, ", "), err, power.Clean(cmp.Or(r.of.Name, "(unnamed)")))
	}
	r.late = nil
	r.left = slices.DeleteFunc(r.left, func(l power.LeftOff) bool {
		if slices.Contains(named, l.Node) {
			return false
		}
		r.withheld = append(r.withheld, l.Node)
		return true
	})
	if len(r.withheld) > 0 {
		r.why = errors.Join(r.why, fmt.Errorf("lightsout leaves %s off, because %w, and its settings may name that cluster's machines: restore with the settings of cluster %s, or name the nodes: lightsout restore %s",
			strings.Join(r.withheld, ", "), err, power.Clean(cmp.Or(r.of.Name, "(unnamed)")), strings.Join(r.withheld, " ")))
	}
}
