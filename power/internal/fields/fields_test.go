package fields

import (
	"strings"
	"testing"

	"lightsout/power"
)

var node = power.NodeRef{Name: "kube-node3", Addresses: []string{"10.0.0.13", "fd00::3"}}

func TestValuesAreFilledIn(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"no names":                 "no names",
		"{{.Node}}-bmc":            "kube-node3-bmc",
		"{{ .Address }}":           "10.0.0.13",
		"{{.Machine}}":             "vm3",
		"{{.BMC}}!":                "10.1.0.3!",
		"a {{.Node}} {{.Machine}}": "a kube-node3 vm3",
	} {
		tmpl, err := Parse("power.exec.on", text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got, err := tmpl.Render(Of(node, "vm3", "10.1.0.3"))
		if err != nil || got != want {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
		}
		if tmpl.PerNode() != strings.Contains(text, "{{") {
			t.Errorf("%q: PerNode is %v", text, tmpl.PerNode())
		}
	}
}

func TestFieldsRefuseATemplateThatIsNotPlain(t *testing.T) {
	for _, text := range []string{
		"{{.Nod}}", "{{.Node.Name}}", "{{.", "{{range 9}}x{{end}}", "{{if .Node}}a{{end}}", `{{define "a"}}{{end}}`,
		"{{$x := .Node}}{{$x}}", "{{.}}", `{{template "a"}}`, "{{with .Node}}{{end}}", `{{printf "%s!" .BMC}}`, `{{define "a"}}x{{end}}{{.Node}}`,
	} {
		if _, err := Parse("power.exec.on", text); err == nil {
			t.Errorf("%q is taken", text)
		} else if !strings.Contains(err.Error(), "power.exec.on") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestUnknownAndHostileValuesAreRefused(t *testing.T) {
	tmpl, err := Parse("p", "{{.Machine}} {{.Address}}")
	if err != nil {
		t.Fatal(err)
	}
	for _, hint := range []string{"a b", "$(reboot)", "a;b", "-rf", "a\nb", "a'b", "`x`", "a|b", "\x1b[2J", "a=b", "a\x00"} {
		_, err := tmpl.Render(Of(node, hint, ""))
		if err == nil {
			t.Errorf("%q is filled in", hint)
		} else if strings.ContainsAny(err.Error(), "\n\x1b\x00") {
			t.Errorf("%q: %q", hint, err)
		}
	}
	if _, err := tmpl.Render(Of(power.NodeRef{Name: "n"}, "", "")); err == nil || !strings.Contains(err.Error(), "Address") {
		t.Errorf("an unknown address: %v", err)
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("{{.Node}}-{{.Address}}", "vm")
	f.Add("{{{.Machine}}}}", "a b")
	f.Fuzz(func(t *testing.T, text, hint string) {
		tmpl, err := Parse("p", text)
		if err != nil {
			return
		}
		out, err := tmpl.Render(Of(node, hint, ""))
		if err == nil && tmpl.Uses("Machine") && hint != "" && !Plain(hint) {
			t.Errorf("%q with %q gave %q", text, hint, out)
		}
	})
}
