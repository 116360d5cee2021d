package plan

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
)

// field reads the field of that name into v, and leaves v unchanged if there is none.
func field[T any](g yamlfile.Group, name string, v *T, read func(n *yaml.Node, name string) (T, error)) (err error) {
	if f, ok := g[name]; ok {
		*v, err = read(f.Value, name)
	}
	return err
}

func decodeTime(n *yaml.Node, name string) (time.Duration, error) {
	return yamlfile.Duration(n, name, false)
}

// nodeName is RFC 1123's subdomain, as the API server demands of a node's name.
var nodeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func decodeName(n *yaml.Node, name string) (string, error) {
	s, err := yamlfile.Text(n, name, 253)
	if err == nil && !nodeName.MatchString(s) {
		err = yamlfile.ErrorAt(n.Line, "%s can't be the name of a node: those have small letters, digits, dashes and dots only", yamlfile.Quote(s))
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
		return nil, yamlfile.ErrorAt(n.Line, "%s must be a list of nodes like [kube-node3, kube-node4], %s", name, yamlfile.IsNot(n))
	}
	if len(n.Content) == 0 {
		return nil, yamlfile.ErrorAt(n.Line, "%s names no node", name)
	}
	var out []string
	var faults []error
	seen := map[string]bool{}
	for _, c := range n.Content {
		s, err := decodeName(c, "the name of a node")
		if err == nil && seen[s] {
			err = yamlfile.ErrorAt(c.Line, "%s is named twice in the same list", s)
		}
		seen[s] = true
		out, faults = append(out, s), append(faults, err)
	}
	return out, errors.Join(faults...)
}

func decodeDeployment(n *yaml.Node, name string) (string, error) {
	s, err := yamlfile.Text(n, name, 317)
	if err != nil {
		return "", err
	}
	namespace, name, ok := strings.Cut(s, "/")
	if !ok || !nodeName.MatchString(namespace) || !nodeName.MatchString(name) || strings.Contains(namespace, ".") {
		return "", yamlfile.ErrorAt(n.Line, "a deployment is written namespace/name, like default/nginx, not %s", yamlfile.Quote(s))
	}
	return s, nil
}
