package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lightsout/internal/export"
)

func TestExportRefusesFlagsWithoutEffect(t *testing.T) {
	dir := t.TempDir()
	cast := filepath.Join(dir, "a.cast")
	if err := os.WriteFile(cast, []byte(`{"version":2,"width":20,"height":5}`+"\n"+`[0,"o","x"]`+"\n"+`[100,"o","y"]`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"mdx OUT/a.png --at 99m", "--at 1h39m0s: it is for a .png, and within the film"},
		{cast + " OUT/a.gif --size 80x24", "a .cast has the size"}, {cast + " OUT/a.svg --at 1s", "--at 1s: it is for a .png"},
		{"mdx", "and picture?"}, {"mdx OUT/a.mp4", "a.mp4 has none of the endings .gif, .svg and .png, which choose the format: for a video, export film.gif, then run `ffmpeg"},
		{"none OUT/a.gif --speed 0", "--speed is from 0.25 to 64, not 0"}, {"none OUT/a.gif --speed NaN", "--speed is from 0.25 to 64, not NaN"},
	} {
		cmd := newExportCommand(&options{})
		cmd.SetArgs(strings.Fields(strings.ReplaceAll(c.args, "OUT", dir)))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("export %s: %v, want %q", c.args, err, c.want)
		}
	}
	svg := filepath.Join(dir, "a.svg")
	cmd := newExportCommand(&options{})
	cmd.SetArgs([]string{cast, svg, "--idle", "1s"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(svg); err != nil || !strings.Contains(string(b), "animation:4.00s") {
		t.Errorf("%v: %.300s", err, b)
	}
	for _, band := range []bool{true, false} { // a record's markers stand in the band of captions, as they do on the stage
		var o options
		cast, err := o.openCast("mdx", exportFlags{size: "80x24", film: export.Options{Captions: band}})
		if err != nil {
			t.Fatal(err)
		}
		if shown := slices.ContainsFunc(cast.Events, func(e export.Event) bool {
			return e.Code == "o" && strings.Contains(e.Data, "► kube-node3, kube-node4 NotReady")
		}); shown != band {
			t.Errorf("captions %v: the band shows the markers: %v", band, shown)
		}
	}
}
