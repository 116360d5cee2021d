package config

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"lightsout/power"
)

// Example is a config with every field that there is, all of them as comments.
//
//go:embed example.yaml
var Example string

// Show writes the config as YAML. What may be a secret is hidden: it has no
// place in the file, but in headers, URLs and a driver's own parameters it can
// stand.
func (c *Config) Show() (string, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	// JSON is YAML, and this keeps the order of the fields.
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return "", err
	}
	hide(&doc)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	err = enc.Encode(&doc)
	return out.String(), err
}

const hidden = "(hidden)"

// secretName fits what secrets are called, placeName fields of ours that fit it
// and hold none, secretArg a secret in a command's arguments.
var (
	secretName = regexp.MustCompile(`(?i)auth|cookie|key|token|secret|passw|credential`)
	placeName  = regexp.MustCompile(`_(file|env)s?$|^(auth|secrets|max_tokens)$`)
	secretArg  = regexp.MustCompile(`(?i)((?:passw|token|secret|key|auth)[a-z_-]*(?:=|: )).+`)
)

// hide takes the flow style and the secrets out of a document.
func hide(n *yaml.Node) {
	n.Style = 0
	for i, part := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && part.Kind == yaml.ScalarNode {
			name := n.Content[i-1].Value
			if secretName.MatchString(name) && !placeName.MatchString(name) {
				part.Value, part.Tag = hidden, "!!str"
			}
		}
		hide(part)
	}
	if n.Kind != yaml.ScalarNode {
		return
	}
	n.Value = secretArg.ReplaceAllString(n.Value, "${1}"+hidden)
	if u, err := url.Parse(n.Value); err == nil && u.User != nil {
		u.User = url.User("hidden")
		n.Value = u.String()
	}
}

// MarshalJSON gives the section power as it stands in a file.
func (p Power) MarshalJSON() ([]byte, error) {
	type plain Power
	parts := []any{plain(p)}
	for _, name := range slices.Sorted(maps.Keys(p.Sections)) {
		parts = append(parts, map[string]power.Section{name: p.Sections[name]})
	}
	if len(p.Nodes) > 0 {
		parts = append(parts, map[string]any{"nodes": p.Nodes})
	}
	return join(parts...)
}

// MarshalJSON gives an entry of power.nodes as it stands in a file.
func (n Node) MarshalJSON() ([]byte, error) {
	parts := []any{n.NodeConfig}
	// Drivers may share a field.
	shared := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(n.Own)) {
		data, err := json.Marshal(n.Own[name])
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &shared); err != nil {
			return nil, err
		}
	}
	return join(append(parts, shared)...)
}

// join makes one JSON object of several.
func join(parts ...any) ([]byte, error) {
	out := []byte{'{'}
	for _, part := range parts {
		data, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		if inner := data[1 : len(data)-1]; len(inner) > 0 {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, inner...)
		}
	}
	return append(out, '}'), nil
}
