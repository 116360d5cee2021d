package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A video that fails half-way leaves what was there, and nothing beside it.
func TestAVideoIsWrittenWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	cast, video := filepath.Join(dir, "a.cast"), filepath.Join(dir, "a.mp4")
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(cast, `{"version":2,"width":20,"height":5}`+"\n"+`[0,"o","x"]`+"\n", 0o600)
	write(video, "an older one", 0o600)
	ffmpeg := filepath.Join(bin, "ffmpeg")
	program := "#!/bin/sh\ncat >/dev/null\nfor path; do :; done\nprintf film >\"${path#file:}\"\n"
	write(ffmpeg, program+"echo no room >&2\nexit 1\n", 0o700)
	if err := runExport(t.Context(), cast, exportFlags{out: video}); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("the error is %v", err)
	}
	if b, err := os.ReadFile(video); string(b) != "an older one" {
		t.Errorf("%q, %v", b, err)
	}
	write(ffmpeg, program, 0o700)
	if err := runExport(t.Context(), cast, exportFlags{out: video}); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(video); string(b) != "film" {
		t.Errorf("%q, %v", b, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("there are %v", left)
	}
}

func TestExportRefusesFlagsWithoutEffect(t *testing.T) {
	dir := t.TempDir()
	cast := filepath.Join(dir, "a.cast")
	if err := os.WriteFile(cast, []byte(`{"version":2,"width":20,"height":5}`+"\n"+`[0,"o","x"]`+"\n"+`[100,"o","y"]`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"mdx -o a.png --at 99m", "--at 1h39m0s is after the end"},
		{"mdx -o a.png --fit 30s", "a .png shows one moment"},
		{"mdx -o a.gif --fit 10ms", "--fit is 1s or more"},
		{"mdx -o a.gif --fit 2s --speed 1", "leave out one of them"},
		{cast + " -o a.gif --size 80x24", "a .cast has the size"},
		{"mdx -o a.txt", "there is no output file"},
	} {
		cmd := newExportCommand(&options{})
		cmd.SetArgs(strings.Fields(strings.ReplaceAll(c.args, "-o ", "-o "+dir+"/")))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("export %s: %v, want %q", c.args, err, c.want)
		}
	}
	svg := filepath.Join(dir, "a.svg")
	cmd := newExportCommand(&options{})
	cmd.SetArgs([]string{cast, "-o", svg, "--fit", "3s"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(svg); err != nil || !strings.Contains(string(b), "animation:2.75s") {
		t.Errorf("%v: %.300s", err, b)
	}
}
