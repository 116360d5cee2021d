package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	names "github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// imageUser is the account of the recorder in the image, which has no rights of its own.
const imageUser = 65532

// imageState is the state folder in the image, to be mounted from a volume.
const imageState = "/var/lib/lightsout"

// image makes NAME.docker.tar: an image of the recorder for one architecture, as "docker
// load" and skopeo read it. It needs no container engine.
func (r *release) image(name, arch string) error {
	content, err := r.layer()
	if err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
	if err != nil {
		return err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: r.when}
	config.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/lightsout"}, Cmd: []string{"recorder", "--state", imageState},
		User: "65532:65532", WorkingDir: imageState, Env: []string{"PATH=/usr/bin", "HOME=" + imageState, "USER=lightsout"},
		Labels: map[string]string{"org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0"},
	}
	img, err = mutate.ConfigFile(img, config)
	if err != nil {
		return err
	}
	tag, err := names.NewTag("lightsout:" + r.version)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(filepath.Join(r.out, name+".docker.tar"), tag, img)
}

// layer returns the files of the image as an archive.
func (r *release) layer() ([]byte, error) {
	program, err := os.ReadFile(r.staged("lightsout"))
	license, unread := os.ReadFile(r.staged("LICENSE"))
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err = errors.Join(err, unread,
		r.add(w, tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}, nil),
		r.add(w, tar.Header{Name: imageState[1:] + "/", Mode: 0o700, Typeflag: tar.TypeDir, Uid: imageUser, Gid: imageUser}, nil),
		r.add(w, tar.Header{Name: "usr/bin/lightsout", Mode: 0o755, Typeflag: tar.TypeReg}, program),
		r.add(w, tar.Header{Name: "usr/share/doc/lightsout/LICENSE", Mode: 0o644, Typeflag: tar.TypeReg}, license),
		w.Close(),
	)
	return out.Bytes(), err
}
