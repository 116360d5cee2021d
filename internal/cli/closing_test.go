package cli

import "testing"

func TestTheHintLeadsToTheSameJournal(t *testing.T) {
	var o options
	if got := o.command("restore"); got != "lightsout restore" {
		t.Error(got)
	}
	o.File, o.Context, o.State = "site.yaml", "kubernetes-admin@kubernetes", "/tmp/it's here"
	want := `lightsout restore --config site.yaml --context kubernetes-admin@kubernetes --state '/tmp/it'\''s here'`
	if got := o.command("restore"); got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
