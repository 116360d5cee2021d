package tui

import (
	"maps"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// allNamespaces is what they are called together.
const allNamespaces = "all"

// elsewhere reports whether there is anything else to be shown: not in a replay,
// and not where only load is sent.
func (d *paletteDialog) elsewhere() bool { return d.m.s.f.Replay == nil && !d.m.opts.LoadOnly }

// places gives the namespaces ("ns") or contexts ("ctx") whose names fit what is
// typed, the best first. Of a namespace more may be meant than is known of.
func (d *paletteDialog) places(kind, typed string) []command {
	var names []string
	if kind == "ctx" {
		if p := d.m.s.f.Places; p != nil {
			names = p.Contexts
		}
	} else {
		names = append([]string{allNamespaces}, d.m.s.namespaces()...)
	}
	low := strings.ToLower(typed)
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !containsFold(name, low) })
	rank := func(name string) int { // the name itself, what begins with it, others
		return btoi(name != typed) + btoi(!strings.HasPrefix(strings.ToLower(name), low))
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	if kind == "ns" && typed != "" && !slices.Contains(names, typed) {
		names = append(names, typed) // it may be there all the same
	}
	var out []command
	for _, name := range names {
		to, fault := view.Place{}, ""
		switch {
		case kind == "ctx":
			to.Context = name
		case name != allNamespaces:
			to.Namespaces = strings.FieldsFunc(name, func(r rune) bool { return r == ',' || r == ' ' })
			if i := slices.IndexFunc(to.Namespaces, func(ns string) bool { return !cluster.CanBeNamespace(ns) }); i >= 0 {
				fault = to.Namespaces[i] + " can't be a namespace: only a-z, 0-9, and - between them; 63 at most"
			}
		}
		out = append(out, command{text: kind + " " + name, fault: fault, binding: bind(send(view.SwitchPlace{Place: to}), "", "", "")})
	}
	return out
}

// namespaces are those that are known, sorted: where they can't be listed, those
// of what is watched.
func (s *scene) namespaces() []string {
	if p := s.f.Places; p != nil && len(p.Namespaces) > 0 {
		return p.Namespaces
	}
	seen := map[string]bool{}
	for _, d := range s.snap.Deployments() {
		seen[d.Namespace] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
