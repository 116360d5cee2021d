// Package fields fills in the part of a configuration that differs from node to node:
// templates with {{.Node}}, {{.Address}}, {{.Machine}} and {{.BMC}}.
package fields

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode"

	"lightsout/power"
)

// Names are the names that a template may contain.
var Names = []string{"Node", "Address", "Machine", "BMC"}

// Values are the values for the names. An empty one is unknown.
type Values struct {
	Node, Address, Machine, BMC string
	// own are names whose values the node gives of itself.
	own []string
}

// Of gives the values for a node: Machine is the hint, or else what an
// annotation names, or else the node's name.
func Of(node power.NodeRef, hint, bmc string) Values {
	v := Values{Node: node.Name, Machine: node.Named(hint), BMC: bmc}
	if len(node.Addresses) > 0 {
		v.Address = node.Addresses[0]
	}
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
type Template struct {
	t     *template.Template
	names []string
}

// Parse reads a template. Only values and functions of values can be in it
// (no loops, conditions or definitions). what names it in errors.
func Parse(what, text string) (*Template, error) {
	t, err := template.New(what).Parse(text)
	if err != nil {
		// "template: what:1: reason"
		parts := strings.SplitN(err.Error(), ": ", 3)
		return nil, power.Wrong(what, " is not a template: %s", power.Clean(parts[len(parts)-1]))
	}
	out := &Template{t: t}
	if t.Tree == nil { // an empty text, or definitions alone
		if strings.TrimSpace(text) != "" {
			return nil, errPlain(what)
		}
		return out, nil
	}
	for _, n := range t.Tree.Root.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
		case *parse.ActionNode:
			if err := out.note(what, n.Pipe); err != nil {
				return nil, err
			}
		default:
			return nil, errPlain(what)
		}
	}
	if len(t.Templates()) > 1 {
		return nil, errPlain(what)
	}
	return out, nil
}

func errPlain(what string) error {
	return power.Wrong(what, ": only plain values like {{.Node}} can be in it")
}

// note collects the names that a pipe uses.
func (t *Template) note(what string, pipe *parse.PipeNode) error {
	if len(pipe.Decl) > 0 {
		return errPlain(what)
	}
	for _, cmd := range pipe.Cmds {
		for _, arg := range cmd.Args {
			switch arg := arg.(type) {
			case *parse.FieldNode:
				if len(arg.Ident) != 1 || !slices.Contains(Names, arg.Ident[0]) {
					return power.Wrong(what, ": there is no {{%s}}; there are {{.%s}}", arg, strings.Join(Names, "}}, {{."))
				}
				t.names = append(t.names, arg.Ident[0])
			case *parse.PipeNode:
				if err := t.note(what, arg); err != nil {
					return err
				}
			case *parse.ChainNode, *parse.DotNode, *parse.VariableNode:
				return errPlain(what)
			}
		}
	}
	return nil
}

// PerNode reports whether it names anything, so that nodes differ.
func (t *Template) PerNode() bool { return len(t.names) > 0 }

// Uses reports whether it names name.
func (t *Template) Uses(name string) bool { return slices.Contains(t.names, name) }

// Render fills the values in. It fails if a value is unknown or is not a plain name or
// address: other systems give nodes their names and addresses.
func (t *Template) Render(v Values) (string, error) {
	values := map[string]string{"Node": v.Node, "Address": v.Address, "Machine": v.Machine, "BMC": v.BMC}
	for _, name := range t.names { // it can name nothing else
		switch value := values[name]; {
		case value == "":
			return "", fmt.Errorf("{{.%s}} in %s is unknown for node %s", name, t.t.Name(), power.Clean(v.Node))
		case !Plain(value):
			return "", fmt.Errorf("{{.%s}} of node %s is %q, which is not a plain name or address", name, power.Clean(v.Node), power.Clean(value))
		}
	}
	var b strings.Builder
	if err := t.t.Execute(&b, values); err != nil {
		return "", fmt.Errorf("%s can't be filled in for node %s: %s", t.t.Name(), power.Clean(v.Node), power.Clean(err.Error()))
	}
	return b.String(), nil
}

// RenderHost is Render for a text that decides who receives a secret. Only the
// configuration may decide that: RenderHost fails if the text contains values that the
// node sets itself, in its annotation or address.
func (t *Template) RenderHost(v Values) (string, error) {
	for _, name := range v.own {
		if t.Uses(name) {
			return "", fmt.Errorf("{{.%s}} in %s decides who gets a secret, and node %s itself sets it; give %s under power.nodes.%s",
				name, t.t.Name(), power.Clean(v.Node), strings.ToLower(name), power.Clean(v.Node))
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
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._:@/+%~-", r) {
			return false
		}
	}
	return true
}
