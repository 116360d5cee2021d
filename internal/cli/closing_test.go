package cli

import (
	"os"
	"path/filepath"
	"testing"

	"lightsout/internal/config"
)

// The printed restore command works in any folder: it has the absolute paths of the
// config in use, of the kubeconfig and of the journal.
func TestTheHintLeadsToTheSameJournal(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile(config.Name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(dir, config.Name)
	for kubeconfig, want := range map[string]string{
		"":          "lightsout restore --config " + here + " --context kubernetes-admin@kubernetes --state '" + dir + `/it'\''s here'`,
		"kube":      "lightsout restore --config " + here + " --kubeconfig " + dir + "/kube --context kubernetes-admin@kubernetes --state '" + dir + `/it'\''s here'`,
		"/a:/b's x": `KUBECONFIG='/a:/b'\''s x' lightsout restore --config ` + here + " --context kubernetes-admin@kubernetes --state '" + dir + `/it'\''s here'`,
	} {
		t.Setenv("KUBECONFIG", kubeconfig)
		var o options
		o.Context, o.State = "kubernetes-admin@kubernetes", "it's here"
		cfg, err := o.Read()
		if err != nil {
			t.Fatal(err)
		}
		if got := o.restore(cfg); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
