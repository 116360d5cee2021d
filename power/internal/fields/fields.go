// Package fields fills in the part of a configuration that differs from node to node:
// templates with {{.Node}}, {{.Address}}, {{.Machine}} and {{.BMC}}.
package fields

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"lightsout/power"
)

// known are the names that a template may contain.
var known = []string{"Node", "Address", "Machine", "BMC"}

// Values are the values for the names. An empty one is unknown.
type Values struct {
	Node, Address, Machine, BMC string
	// own are names whose values the node gives of itself.
	own []string
}

// Of gives the values for a node: Machine is the hint, or else what an
// annotation names, or else the node's name.
func Of(node power.NodeRef, hint, bmc string) Values {
	v := Values{Node: node.Name, Address: cmp.Or(node.Addresses...), Machine: node.Named(hint), BMC: bmc}
	if !node.Configured {
		v.own = append(v.own, "Address")
	}
	if hint == "" && v.Machine != "" {
		v.own = append(v.own, "Machine")
	}
	v.Machine = cmp.Or(v.Machine, node.Name)
	return v
}

// Node is what an entry below power.nodes may say of a machine's controller.
type Node struct {
	// BMC is its host name or address.
	BMC string `json:"bmc"`
}

// Controls returns the host name or address of the machine's controller; empty if the
// entry has none.
func (n *Node) Controls() string { return n.BMC }

// Template is a text with values left open. It is safe for use by several
// goroutines.
type Template struct{ what, text string }

// opening matches a value left open.
var opening = regexp.MustCompile(`{{ *\.(\w+) *}}`)

// Parse reads a template, which can contain plain names only. what names it in errors.
func Parse(what, text string) (*Template, error) {
	t := &Template{what, text}
	for _, name := range t.names() {
		if !slices.Contains(known, name) {
			return nil, power.Wrong(what, ": there is no {{.%s}}; there are {{.%s}}", name, strings.Join(known, "}}, {{."))
		}
	}
	if strings.Contains(opening.ReplaceAllString(text, ""), "{{") {
		return nil, power.Wrong(what, ": only plain values like {{.Node}} can be in it")
	}
	return t, nil
}

// names are those that the text leaves open.
func (t *Template) names() []string {
	var out []string
	for _, m := range opening.FindAllStringSubmatch(t.text, -1) {
		out = append(out, m[1])
	}
	return out
}

// PerNode reports whether it names anything, so that nodes differ.
func (t *Template) PerNode() bool { return opening.MatchString(t.text) }

// Uses reports whether it names name.
func (t *Template) Uses(name string) bool { return slices.Contains(t.names(), name) }

// Render fills the values in. It fails if a value is unknown or is not a plain name or
// address: other systems give nodes their names and addresses.
func (t *Template) Render(v Values) (string, error) {
	values := map[string]string{"Node": v.Node, "Address": v.Address, "Machine": v.Machine, "BMC": v.BMC}
	for _, name := range t.names() {
		switch value := values[name]; {
		case value == "":
			return "", fmt.Errorf("{{.%s}} in %s is unknown for node %s", name, t.what, power.Clean(v.Node))
		case !Plain(value):
			return "", fmt.Errorf("{{.%s}} of node %s is %q, which is not a plain name or address", name, power.Clean(v.Node), power.Clean(value))
		}
	}
	return opening.ReplaceAllStringFunc(t.text, func(open string) string { return values[strings.Trim(open, "{ .}")] }), nil
}

// RenderHost is Render for a text that decides who receives a secret. Only the
// configuration may decide that: RenderHost fails if the text contains values that the
// node sets itself, in its annotation or address.
func (t *Template) RenderHost(v Values) (string, error) {
	for _, name := range v.own {
		if t.Uses(name) {
			return "", fmt.Errorf("{{.%s}} in %s decides who gets a secret, and node %s itself sets it; give %s under power.nodes.%s",
				name, t.what, power.Clean(v.Node), strings.ToLower(name), power.Clean(v.Node))
		}
	}
	return t.Render(v)
}

// Controller is RenderHost for the address of a node's controller, and how that was
// found: by the configuration where that names the controller.
func (t *Template) Controller(v Values) (address, how string, err error) {
	switch {
	case v.BMC != "":
		how = power.HowConfig
	case t.Uses("BMC"):
		return "", "", fmt.Errorf("%w: node %s has no controller; give bmc under power.nodes.%s", power.ErrNoMachine, v.Node, v.Node)
	}
	address, err = t.RenderHost(v)
	return address, how, err
}

// Plain reports whether s is a name or an address and nothing that a command
// line, a shell or a protocol could take for more: letters, digits and
// ._:@/+%~- inside, and no - in front.
func Plain(s string) bool {
	if s == "" || strings.HasPrefix(s, "-") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._:@/+%~-", r)
	})
}
