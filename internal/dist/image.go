package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageUser is the account of the recorder in the image, which has no rights of its own.
const imageUser = 65532

// imageState is the state folder in the image, to be mounted from a volume.
const imageState = "/var/lib/lightsout"

// image makes NAME.oci.tar: an image of the recorder for one architecture, as an OCI image
// layout in an archive. It needs no container engine.
func (r *release) image(name, arch string) (err error) {
	img, err := r.recorderImage(arch)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "lightsout-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	index, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := index.AppendImage(img, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: arch})); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(r.out, name+".oci.tar"))
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	defer func() { err = errors.Join(err, w.Close(), f.Close()) }()
	return r.tree(w, dir, "")
}

// recorderImage returns an image with the program alone.
func (r *release) recorderImage(arch string) (v1.Image, error) {
	content, err := r.layer()
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if img, err = mutate.AppendLayers(img, layer); err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: r.when}
	config.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/lightsout"}, Cmd: []string{"recorder", "--state", imageState},
		User: "65532:65532", WorkingDir: imageState, Env: []string{"PATH=/usr/bin", "HOME=" + imageState, "USER=lightsout"},
		Labels: map[string]string{"org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0"},
	}
	return mutate.ConfigFile(img, config)
}

// layer returns the files of the image as an archive.
func (r *release) layer() ([]byte, error) {
	program, err := os.ReadFile(r.staged("lightsout"))
	if err != nil {
		return nil, err
	}
	license, err := os.ReadFile(r.staged("LICENSE"))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range []struct {
		header  tar.Header
		content []byte
	}{
		{tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}, nil},
		{tar.Header{Name: imageState[1:] + "/", Mode: 0o700, Typeflag: tar.TypeDir, Uid: imageUser, Gid: imageUser}, nil},
		{tar.Header{Name: "usr/bin/lightsout", Mode: 0o755, Typeflag: tar.TypeReg}, program},
		{tar.Header{Name: "usr/share/doc/lightsout/LICENSE", Mode: 0o644, Typeflag: tar.TypeReg}, license},
	} {
		f.header.ModTime, f.header.Size = r.when, int64(len(f.content))
		if err := w.WriteHeader(&f.header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
