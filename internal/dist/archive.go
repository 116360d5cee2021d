package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// archive packs all that is staged into NAME.tar.gz, below a folder NAME.
func (r *release) archive(name string) (err error) {
	f, err := os.Create(filepath.Join(r.out, name+".tar.gz"))
	if err != nil {
		return err
	}
	zip, err := gzip.NewWriterLevel(f, gzip.BestCompression) // without a time of its own
	if err != nil {
		return err
	}
	w := tar.NewWriter(zip)
	defer func() { err = errors.Join(err, w.Close(), zip.Close(), f.Close()) }()
	return filepath.WalkDir(r.stage, func(file string, d fs.DirEntry, err error) error { // in order of names
		if err != nil || d.IsDir() {
			return err
		}
		inside, err := filepath.Rel(r.stage, file)
		if err != nil {
			return err
		}
		h := tar.Header{Typeflag: tar.TypeReg, Name: path.Join(name, filepath.ToSlash(inside)), Mode: 0o644}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode()&0o100 != 0 {
			h.Mode = 0o755
		}
		if d.Type() == fs.ModeSymlink {
			h.Typeflag = tar.TypeSymlink
			h.Linkname, err = os.Readlink(file)
			return errors.Join(err, r.add(w, h, nil))
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return r.add(w, h, b)
	})
}

// add writes one file or folder to an archive.
func (r *release) add(w *tar.Writer, h tar.Header, content []byte) error {
	h.ModTime, h.Size = r.when, int64(len(content))
	if err := w.WriteHeader(&h); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}
