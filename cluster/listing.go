package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// listingMost is how many objects of one namespace, or of all, a Listing has.
const listingMost = 500

// Media types of answers.
const (
	asTable  = "application/json;as=Table;v=v1;g=meta.k8s.io"
	asServed = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	asNames  = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// Listing is the objects of one kind as the API server prints them for kubectl get. Its
// texts are safe for a terminal. Immutable.
type Listing struct {
	Title   string // "poddisruptionbudgets.policy"
	Columns []string
	Rows    []ListingRow
	// Cut: there are more objects.
	Cut bool
}

// ListingRow is an object with its cells, one for each column.
type ListingRow struct {
	Ref
	Cells []string
}

// served is a kind that the API server serves.
type served struct {
	resource
	names      []string // that kubectl takes
	namespaced bool
}

// List reads the objects of a kind by one of the names that kubectl takes for it, at most 500
// of each of the namespaces; none is all.
func (c *Client) List(ctx context.Context, word string, namespaces []string) (*Listing, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	k, err := c.kindCalled(ctx, strings.ToLower(word))
	if err != nil {
		return nil, err
	}
	kind := c.learn(k.resource)
	out := &Listing{Title: harmless(k.full())}
	if !k.namespaced || len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, ns := range namespaces {
		if err := c.addTable(ctx, out, k, kind, ns); err != nil {
			return nil, sentence(fmt.Sprintf("%s can't be listed: %s", k.full(), c.why(ctx, err, "list on "+k.plural, "the cluster has no "+k.plural)), err)
		}
	}
	return out, nil
}

// full is the name of a kind that is unique: "ingresses.networking.k8s.io".
func (r resource) full() string {
	gv, _ := schema.ParseGroupVersion(r.apiVersion) // ours, or one that the API server serves
	return schema.GroupResource{Group: gv.Group, Resource: r.plural}.String()
}

// ofK9s are short names that k9s has, and the API server does not.
var ofK9s = map[string]string{
	"sec": "secrets", "ro": "roles.rbac.authorization.k8s.io", "rb": "rolebindings.rbac.authorization.k8s.io", "np": "networkpolicies.networking.k8s.io",
	"cr": "clusterroles.rbac.authorization.k8s.io", "crb": "clusterrolebindings.rbac.authorization.k8s.io",
}

// kindCalled finds a kind by its name: singular, plural, short, with its group, or as k9s calls it.
func (c *Client) kindCalled(ctx context.Context, word string) (*served, error) {
	var all []served
	for _, path := range []string{"/api", "/apis"} {
		var list apidiscoveryv2.APIGroupDiscoveryList
		if err := fetch(ctx, c.get().AbsPath(path), asServed, &list); err != nil {
			return nil, sentence("the kinds that the API server serves can't be read: "+c.because(ctx, err), err)
		}
		if list.Kind != "APIGroupDiscoveryList" {
			return nil, errors.New("this API server does not list its kinds: Kubernetes 1.30 and later do")
		}
		all = append(all, servedOf(&list)...)
	}
	called := func(word string) int {
		return slices.IndexFunc(all, func(k served) bool { return slices.Contains(k.names, word) })
	}
	i := called(word)
	if i < 0 {
		i = called(ofK9s[word])
	}
	if i < 0 {
		return nil, fmt.Errorf("the API server serves no kind %q; kubectl api-resources lists all", harmless(word))
	}
	return &all[i], nil
}

// servedOf lists the kinds that can be listed, each in its preferred version.
func servedOf(list *apidiscoveryv2.APIGroupDiscoveryList) (out []served) {
	for _, g := range list.Items {
		seen := map[string]bool{}
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				if seen[r.Resource] || r.ResponseKind == nil || !slices.Contains(r.Verbs, "list") {
					continue
				}
				seen[r.Resource] = true
				at := schema.GroupVersion{Group: g.Name, Version: v.Version}.String()
				k := served{resource: resource{at, r.Resource, r.ResponseKind.Kind}, namespaced: r.Scope == apidiscoveryv2.ScopeNamespace}
				k.names = append([]string{r.Resource, r.SingularResource, strings.ToLower(r.ResponseKind.Kind), k.full()}, r.ShortNames...)
				out = append(out, k)
			}
		}
	}
	return out
}

// learn returns the Kind of a resource, by which Describe finds it from now on.
func (c *Client) learn(r resource) Kind {
	for kind, known := range resources {
		if known.full() == r.full() {
			return kind
		}
	}
	kind := Kind(strings.ToLower(r.kind))
	if group, _, found := strings.Cut(r.apiVersion, "/"); found && strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
		kind += Kind("." + group)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.learned[kind] = r
	return kind
}

// resourceOf finds where the objects of a kind are.
func (c *Client) resourceOf(kind Kind) (resource, bool) {
	if r, ok := resources[kind]; ok {
		return r, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.learned[kind]
	return r, ok
}

// addTable adds the objects of a namespace.
func (c *Client) addTable(ctx context.Context, out *Listing, k *served, kind Kind, namespace string) error {
	var t metav1.Table
	if err := fetch(ctx, k.of(c.get(), namespace).Param("limit", strconv.Itoa(listingMost)), asTable, &t); err != nil {
		return err
	}
	var shown []int
	out.Columns = nil
	for i, col := range t.ColumnDefinitions {
		if col.Priority == 0 {
			shown, out.Columns = append(shown, i), append(out.Columns, harmless(strings.ToUpper(col.Name)))
		}
	}
	for _, row := range t.Rows {
		var o metav1.PartialObjectMetadata
		if err := json.Unmarshal(row.Object.Raw, &o); err != nil {
			return err
		}
		r := ListingRow{Ref: Ref{kind, Key{nameOf(o.Namespace), nameOf(o.Name)}}}
		for _, i := range shown {
			text := ""
			if i < len(row.Cells) && row.Cells[i] != nil {
				text = fmt.Sprint(row.Cells[i])
				if n, ok := row.Cells[i].(float64); ok {
					text = strconv.FormatFloat(n, 'f', -1, 64) // not 1e+06
				}
			}
			r.Cells = append(r.Cells, harmless(text))
		}
		out.Rows = append(out.Rows, r)
	}
	out.Cut = out.Cut || t.Continue != ""
	return nil
}
