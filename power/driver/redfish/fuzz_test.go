package redfish

import (
	"net/http"
	"testing"

	terminal "lightsout/internal/text"
	"lightsout/power"
)

// FuzzController has the controller answer everything with the same bytes:
// nothing that it says reaches a terminal as it is, and it gets no secret that it
// has not got already.
func FuzzController(f *testing.F) {
	for _, s := range []string{
		`{"PowerState":"Off","Name":"System\u001b[2J","Actions":{"#ComputerSystem.Reset":{"target":"/x","ResetType@Redfish.AllowableValues":["On"],"@Redfish.ActionInfo":"/y"}}}`,
		`{"Members":[{"@odata.id":"/redfish/v1/Systems/1"},{"@odata.id":"//elsewhere.example/x"}],"Members@odata.nextLink":"https://elsewhere.example/"}`,
		`{"error":{"message":"m\u202e","@Message.ExtendedInfo":[{"Message":"e"}]}}`, `<html>`, "",
		`{"Parameters":[{"Name":"ResetType","AllowableValues":["On",1]}]}`,
	} {
		f.Add(s, 200)
		f.Add(s, 400)
		f.Add(s, 550) // a status without a name
	}
	b := newBMC(f)
	f.Fuzz(func(t *testing.T, body string, code int) {
		code = 200 + (code%400+400)%400
		b.with(func() {
			seen := 0
			b.fault = func(w http.ResponseWriter, r *http.Request, _ string) bool {
				answer := body
				if seen++; seen > 100 { // a list may go on for ever
					answer = "{}"
				}
				w.WriteHeader(code)
				_, _ = w.Write([]byte(answer))
				return true
			}
		})
		d := newDriver(t, b, nil)
		say := func(text string) {
			if text != terminal.Clean(text, 1<<16) {
				t.Errorf("%q is not harmless", text)
			}
		}
		m, err := d.Find(t.Context(), power.NodeRef{Name: "kube-node3"}, "")
		if err != nil {
			say(err.Error())
		} else {
			say(m.Title() + m.Name)
		}
		r, err := d.State(t.Context(), b.machine())
		if err != nil {
			say(err.Error())
		}
		say(r.Detail)
		if err == nil && r.State == power.Off && code >= 300 {
			t.Errorf("%d %q is off", code, body)
		}
		if err := d.Switch(t.Context(), power.ActionOn, b.machine()); err != nil {
			say(err.Error())
		}
	})
}
