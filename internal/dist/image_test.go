package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// TestTheImageRunsFromItsLayers unpacks the image as a container engine does, and runs its
// program.
func TestTheImageRunsFromItsLayers(t *testing.T) {
	r := &release{version: "1.2.3", out: t.TempDir(), stage: t.TempDir(), when: time.Unix(1_700_000_000, 0).UTC()}
	for name, text := range map[string]string{"lightsout": "#!/bin/sh\necho \"$@\"\n", "LICENSE": "a license"} {
		if err := os.WriteFile(r.staged(name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.image("lightsout", "arm64"); err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(filepath.Join(r.out, "lightsout.docker.tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil || config.Architecture != "arm64" || config.Config.User != "65532:65532" || !config.Created.Time.Equal(r.when) {
		t.Fatalf("%+v, %v", config, err)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	files, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	root := t.TempDir()
	unpack(t, files, root)
	command := slices.Concat(config.Config.Entrypoint, config.Config.Cmd)
	out, err := exec.Command(filepath.Join(root, command[0]), command[1:]...).CombinedOutput()
	if err != nil || string(out) != "recorder --state /var/lib/lightsout\n" {
		t.Errorf("%v: %s", err, out)
	}
	if info, err := os.Stat(filepath.Join(root, imageState)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the state folder: %v, %v", info, err)
	}
}

// unpack writes an archive's folders and files below a folder.
func unpack(t *testing.T, from io.Reader, to string) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, filepath.Clean("/"+h.Name))
		mode := os.FileMode(h.Mode).Perm()
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, mode)
		} else {
			b, readErr := io.ReadAll(r)
			err = errors.Join(readErr, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, mode))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
