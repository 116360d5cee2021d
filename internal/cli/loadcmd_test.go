package cli

import (
	"bytes"
	"testing"
)

func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"50/s", "30/m", "1e3", "0.5/h", "/s", "NaN/s", "1/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := parseRate(text); err == nil && !(v > 0) {
			t.Errorf("%q is %g a second", text, v)
		}
	})
}

func FuzzRecountRequests(f *testing.F) {
	f.Add([]byte(`{"id":"a-1","run":1,"class":"ok","status":200}` + "\n" + `{"id":"a-2","class":"unsent","count":3}` + "\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := recountRequests(bytes.NewReader(data))
		if err == nil && !c.all.Balanced() {
			t.Errorf("%+v does not balance", c.all)
		}
	})
}
