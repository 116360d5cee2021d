package cli

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"lightsout/internal/config"
	"lightsout/internal/text"
	"lightsout/tui"
)

// kept are the operator's choices on the screen, in the file screen.json of the state
// folder.
type kept struct {
	Columns map[string]tui.Choice `json:"columns,omitempty"`
}

// mostKept bounds the bytes of screen.json.
const mostKept = 64 << 10

// withKept adds to the options of a screen the kept choices and the way to keep new
// ones. Without a state folder nothing is kept; a file that is not valid is replaced at
// the next change.
func withKept(cfg *config.Config, o tui.Options) tui.Options {
	dir, err := cfg.StateDir()
	if err != nil {
		return o
	}
	path := filepath.Join(dir, "screen.json")
	o.Columns = readKept(path).Columns
	o.KeepColumns = func(all map[string]tui.Choice) error {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		return text.WriteFile(path, func(f *os.File) error { return json.NewEncoder(f).Encode(kept{all}) })
	}
	return o
}

func readKept(path string) (k kept) {
	f, err := text.OpenFile(path)
	if err != nil {
		return kept{}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostKept))
	if err != nil || json.Unmarshal(b, &k) != nil {
		return kept{}
	}
	return k
}
