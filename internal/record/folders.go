package record

import (
	"os"
	"path/filepath"
	"regexp"
)

// sessionDir matches the names that NewSessionDir gives to records.
var sessionDir = regexp.MustCompile(`^\d{8}T\d{6}Z(-\d+)?$`)

// SessionDirs lists the records in dir, the oldest first. Folders of other names are
// somebody else's.
func SessionDirs(dir string) (out []string) {
	all, _ := os.ReadDir(dir) // without the folder there are none
	for _, e := range all {
		if e.IsDir() && sessionDir.MatchString(e.Name()) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

// Trim removes the oldest records in dir, except one, until all take at most that many
// bytes. It returns the removed ones.
func Trim(dir string, most int64, except string) (gone []string, err error) {
	all := SessionDirs(dir)
	sizes, sum := make([]int64, len(all)), int64(0)
	for i, path := range all {
		files, _ := os.ReadDir(path) // of one that was removed meanwhile there are none
		for _, f := range files {
			if info, err := f.Info(); err == nil {
				sizes[i] += info.Size()
			}
		}
		sum += sizes[i]
	}
	for i, path := range all {
		switch {
		case sum <= most:
			return gone, nil
		case path == except:
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return gone, err
		}
		gone, sum = append(gone, path), sum-sizes[i]
	}
	return gone, nil
}
