package mdx

import (
	"net/http"
	"testing"

	terminal "lightsout/internal/text"
	"lightsout/power"
)

// FuzzPortal has the portal answer everything with the same bytes: nothing that
// it says reaches a terminal as it is, and what is not understood is not "off".
func FuzzPortal(f *testing.F) {
	for _, s := range []string{
		`{"next":null,"results":[{"uuid":"u","name":"kube-node3","status":"PowerOFF"}],"name":"\u001b[2J","status":"PowerOFF","service_networks":[{"ipv4_address":["10.0.0.13"]}]}`,
		`[{"projects":[{"uuid":"p","name":"my-project\u202e"}]}]`, `{"detail":"no\u001b]0;x\u0007"}`, `<html>`, `{"next":"x"}`, "",
	} {
		f.Add(s, 200)
		f.Add(s, 409)
		f.Add(s, 550) // a status without a name
	}
	p := newPortal(f)
	f.Fuzz(func(t *testing.T, body string, code int) {
		code = 200 + (code%400+400)%400
		p.with(func() {
			pages := 0
			p.fault = func(w http.ResponseWriter, r *http.Request) bool {
				if pages++; pages > 3 { // a list may go on for ever
					body = "{}"
				}
				w.WriteHeader(code)
				_, _ = w.Write([]byte(body))
				return true
			}
		})
		d := newDriver(t, p, "")
		d.pauses = nil
		say := func(text string) {
			if text != terminal.Clean(text, 1<<16) {
				t.Errorf("%q is not harmless", text)
			}
		}
		m, err := d.Find(t.Context(), power.NodeRef{Name: "kube-node3", Addresses: []string{"10.0.0.13"}}, "")
		if err != nil {
			say(err.Error())
		} else {
			say(m.Title() + m.Name + m.Address)
		}
		r, err := d.State(t.Context(), machine("u"))
		if err != nil {
			say(err.Error())
		}
		say(r.Detail)
		if err == nil && r.State == power.Off && code >= 300 {
			t.Errorf("%d %q is off", code, body)
		}
		if err := d.Switch(t.Context(), power.ActionShutdown, machine("u")); err != nil {
			say(err.Error())
		}
	})
}
