package config

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
	"lightsout/power"
	"lightsout/power/driver"
)

//go:embed example.yaml
var example string

// Example is a config with every field that there is, all of them as comments.
func Example() string {
	var drivers, nodes strings.Builder
	for _, k := range power.Kinds() {
		section, own, _ := strings.Cut(driver.Example(k.Name), "nodes:\n")
		for line := range strings.Lines(section) {
			drivers.WriteString("#   " + line)
		}
		for line := range strings.Lines(own) {
			nodes.WriteString("#     " + line)
		}
	}
	return strings.NewReplacer("#   (drivers)\n", drivers.String(), "#       (nodes)\n", nodes.String()).Replace(example)
}

// Show writes the config as YAML. It hides values that may be secrets:
// headers, URLs and parameters of drivers can contain some, against the rules.
func (c *Config) Show() (string, error) {
	doc := yamlfile.Encode(c)
	hide(doc)
	return yamlfile.Write(doc)
}

const hidden = "(hidden)"

// secretWords, in a regular expression, stand anywhere in names of secrets; secretParts stand alone
// or between separators.
const (
	secretWords = `auth|cookie|key|token|secret|passw|credential`
	secretParts = `sig|signature|sas|hmac|jwt|code|otp|pass|pin|pwd|session|sessionid|sid`
)

// secretName fits the names of secrets, placeName fields of ours that it fits and that hold none,
// secretArg a secret in a command's arguments.
var (
	secretName = regexp.MustCompile(`(?i)` + secretWords + `|(?:^|[-_.])(?:` + secretParts + `)(?:$|[-_.])`)
	placeName  = regexp.MustCompile(`_(file|env)s?$|^(auth|secrets|max_tokens)$`)
	secretArg  = regexp.MustCompile(`(?i)((?:(?:` + secretWords + `)[a-z_.-]*|\b(?:` + secretParts + `)(?:[-_.][a-z_.-]*)?|_(?:` + secretParts + `))(?:=|: )).+`)
)

// userInfo finds the user in a URL, and query what follows its path, or a path at the beginning.
var (
	userInfo = regexp.MustCompile(`://[^/?#]*@`)
	query    = regexp.MustCompile(`((?:://|^/)[^\s"'<>;?#]*[;?#]).+`)
)

// hide takes the secrets out of a document.
func hide(n *yaml.Node) {
	for i, part := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && part.Kind == yaml.ScalarNode {
			name := n.Content[i-1].Value
			if secretName.MatchString(name) && !placeName.MatchString(name) {
				*part = yaml.Node{Kind: yaml.ScalarNode, Value: hidden}
			}
		}
		hide(part)
	}
	if n.Kind == yaml.ScalarNode {
		n.Value = conceal(n.Value)
	}
}

// conceal hides the secrets in a text: the user of a URL, and the rest of the text after the path of
// one or after the name of a secret.
func conceal(s string) string {
	s = userInfo.ReplaceAllString(s, "://hidden@")
	s = secretArg.ReplaceAllString(s, "${1}"+hidden)
	return query.ReplaceAllString(s, "${1}"+hidden)
}

// EncodeYAML returns the section power as in a file.
func (p Power) EncodeYAML() *yaml.Node {
	type plain Power
	out := yamlfile.Encode(plain(p))
	for _, name := range slices.Sorted(maps.Keys(p.Sections)) {
		yamlfile.Put(out, name, yamlfile.Encode(p.Sections[name]))
	}
	if len(p.Nodes) > 0 {
		yamlfile.Put(out, "nodes", yamlfile.Encode(p.Nodes))
	}
	return out
}

// EncodeYAML returns an entry of power.nodes as in a file.
func (n Node) EncodeYAML() *yaml.Node {
	out := yamlfile.Encode(n.NodeConfig)
	written := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(n.Own)) {
		own := yamlfile.Encode(n.Own[name]).Content
		for i := 0; i < len(own); i += 2 {
			if field := own[i].Value; !written[field] { // drivers may share one
				written[field] = true
				out.Content = append(out.Content, own[i], own[i+1])
			}
		}
	}
	return out
}

// DriverSettings identifies the settings by which drivers reach machines: it hashes bastion, ssh and
// power. Two configs with the same result reach the same machine by the same ID, unless environment
// variables or files that they name differ. It is empty if the settings can't be written.
func (c *Config) DriverSettings() string {
	out, _ := json.Marshal([]any{c.Bastion, c.SSH, c.Power, c.Power.Sections, c.Power.Nodes}) // it never fails: it came from YAML
	sum := sha256.Sum256(out)
	return hex.EncodeToString(sum[:8])
}
