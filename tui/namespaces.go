package tui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// namespaces are the namespaces whose deployments and pods the screen shows; the zero
// value is all. They are only a filter: lightsout watches the same objects, and the
// rest of the screen stays.
type namespaces struct {
	text string // separated by commas
	all  []string
}

func (n namespaces) on() bool { return n.text != "" }

func (n namespaces) has(name string) bool { return n.text == "" || slices.Contains(n.all, name) }

// allNamespaces is the name for all of them.
const allNamespaces = "all"

// showNamespaces shows the deployments and pods of some namespaces, or of all. If
// lightsout watches only some namespaces, and others are chosen, it asks the session to
// watch those.
func showNamespaces(names []string) func(*Model) {
	return func(m *Model) {
		s := &m.s
		watched := strings.FieldsFunc(s.f.Namespaces, func(r rune) bool { return r == ',' })
		outside := len(names) == 0 && !s.only.on() || slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(watched, name) })
		if len(watched) > 0 && outside && s.f.Replay == nil {
			m.opts.Send(view.SwitchScope{Scope: view.Scope{Namespaces: names}})
			return
		}
		s.only = namespaces{strings.Join(names, ","), names}
		unknown := slices.IndexFunc(names, func(name string) bool {
			return s.f.Scopes != nil && len(s.f.Scopes.Namespaces) > 0 && !slices.Contains(s.f.Scopes.Namespaces, name) && !slices.Contains(watched, name)
		})
		switch {
		case unknown >= 0:
			m.say("there was no namespace " + names[unknown] + " at the start, so it may show nothing; 0 shows all again")
		case len(names) > 0:
			m.say("shown: deployments and pods of " + s.only.text + "; 0 shows all again")
		case len(watched) > 0:
			m.say(fmt.Sprintf("shown: all watched namespaces (%s)", s.f.Namespaces))
		default:
			m.say("shown: all namespaces")
		}
	}
}

// placesOf returns the namespaces ("ns") or contexts ("ctx") that there are, and a
// typed namespace that lightsout does not know.
func placesOf(m *Model, kind, typed string) []command {
	var names []string
	if kind == "ctx" {
		if p := m.s.f.Scopes; p != nil {
			names = p.Contexts
		}
	} else {
		names = append([]string{allNamespaces}, m.s.namespaces()...)
	}
	known := len(names)
	if kind == "ns" && typed != "" && !slices.Contains(names, typed) {
		names = append(slices.Clip(names), typed) // it may exist nevertheless
	}
	var out []command
	for i, name := range names {
		run, fault := send(view.SwitchScope{Scope: view.Scope{Context: name}}), ""
		if kind == "ns" {
			run, fault = chooseNamespaces(name)
		}
		c := command{text: kind + " " + name, fault: fault, binding: binding{run: run}}
		if i < known {
			c.names = []string{c.text}
		}
		out = append(out, c)
	}
	return out
}

// chooseNamespaces shows the named namespaces, separated by commas; fault is the reason
// why it cannot.
func chooseNamespaces(name string) (run func(*Model), fault string) {
	if name == allNamespaces {
		return showNamespaces(nil), ""
	}
	names := strings.FieldsFunc(name, func(r rune) bool { return r == ',' || r == ' ' })
	if i := slices.IndexFunc(names, func(ns string) bool { return !cluster.CanBeNamespace(ns) }); i >= 0 {
		fault = names[i] + " can't be a namespace: only a-z, 0-9, and - between them; 63 at most"
	}
	return showNamespaces(names), fault
}

// namespaces returns the known namespaces, sorted; if the account may not list them,
// those of the watched objects.
func (s *scene) namespaces() []string {
	if p := s.f.Scopes; p != nil && len(p.Namespaces) > 0 {
		return p.Namespaces
	}
	seen := map[string]bool{}
	for _, d := range s.snap.Deployments() {
		seen[d.Namespace] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
