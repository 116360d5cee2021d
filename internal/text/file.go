package text

import (
	"fmt"
	"io/fs"
	"os"
)

// OpenFile is os.Open, but refuses what is no regular file before it is opened:
// that might take for ever.
func OpenFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if what := NotFile(info.Mode()); what != "" {
		return nil, fmt.Errorf("%s is %s, not a file", path, what)
	}
	return os.Open(path)
}

// NotFile names what stands where a file is expected, like "a pipe"; it is empty for
// a regular file. To open or read any of these may take for ever.
func NotFile(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return ""
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}
