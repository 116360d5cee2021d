package plan

import (
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
	"lightsout/internal/text"
)

// Error is what is wrong with a plan, with its line.
type Error = yamlfile.Error

// The words of the reader below, as the files of this package use them.
var (
	errorAt  = yamlfile.ErrorAt
	fields   = yamlfile.Fields
	readText = yamlfile.Text
	is       = yamlfile.Is
	isNot    = yamlfile.IsNot
	quote    = yamlfile.Quote
	shorten  = yamlfile.Shorten
	and      = text.List
)

// optionalTime reads the field of that name, or returns unless when there is none.
func optionalTime(g yamlfile.Group, name string, unless time.Duration) (time.Duration, error) {
	f, ok := g[name]
	if !ok {
		return unless, nil
	}
	return yamlfile.Duration(f.Value, name, false)
}

// nodeName is RFC 1123's subdomain, as the API server demands of a node's name.
var nodeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func decodeName(n *yaml.Node, name string) (string, error) {
	s, err := readText(n, name, 253)
	if err == nil && !nodeName.MatchString(s) {
		err = errorAt(n.Line, "%s can't be the name of a node: those have small letters, digits, dashes and dots only", quote(s))
	}
	return s, err
}

// decodeNames reads one name, or a list of names that are all different.
func decodeNames(n *yaml.Node, name string) ([]string, error) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		s, err := decodeName(n, name)
		return []string{s}, err
	}
	if n.Kind != yaml.SequenceNode {
		return nil, errorAt(n.Line, "%s must be a list of nodes like [kube-node3, kube-node4], %s", name, isNot(n))
	}
	if len(n.Content) == 0 {
		return nil, errorAt(n.Line, "%s names no node", name)
	}
	var out []string
	seen := map[string]bool{}
	for _, c := range n.Content {
		s, err := decodeName(c, "the name of a node")
		if err != nil {
			return nil, err
		}
		if seen[s] {
			return nil, errorAt(c.Line, "%s is named twice in the same list", s)
		}
		seen[s] = true
		out = append(out, s)
	}
	return out, nil
}

// decodeNodes reads the value of a step that is about nodes: a list of them,
// or a group with nodes: and the other fields known.
func decodeNodes(n *yaml.Node, kind, what string, known ...string) ([]string, yamlfile.Group, error) {
	if n.Kind != yaml.MappingNode {
		nodes, err := decodeNames(n, kind)
		return nodes, nil, err
	}
	g, err := fields(n, what, known...)
	if err != nil {
		return nil, nil, err
	}
	f, ok := g["nodes"]
	if !ok {
		return nil, nil, errorAt(n.Line, "this %s step names no nodes: add nodes: [kube-node3]", kind)
	}
	nodes, err := decodeNames(f.Value, "nodes")
	return nodes, g, err
}

func decodeDeployment(n *yaml.Node) (string, error) {
	s, err := readText(n, "deployment", 317)
	if err != nil {
		return "", err
	}
	namespace, name, ok := strings.Cut(s, "/")
	if !ok || !nodeName.MatchString(namespace) || !nodeName.MatchString(name) || strings.Contains(namespace, ".") {
		return "", errorAt(n.Line, "a deployment is written namespace/name, like default/nginx, not %s", quote(s))
	}
	return s, nil
}
