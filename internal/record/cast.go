package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Cast writes what was on the screen as asciicast v2
// (docs.asciinema.org/manual/asciicast/v2), which many programs play. Each
// picture is one write, so that the file is whole up to the moment at which
// the program ended. Safe for use by several goroutines.
type Cast struct {
	width, height int

	*file

	mu    sync.Mutex
	begun time.Time
	last  time.Duration
	lines []string // as they stand on the screen
	lost  int      // of the lines lost, those that have been made good
}

// castHeader is the first line of a cast.
type castHeader struct {
	Version   int               `json:"version"`
	Width     int               `json:"width"`
	Height    int               `json:"height"`
	Timestamp int64             `json:"timestamp"`
	Title     string            `json:"title,omitempty"`
	Env       map[string]string `json:"env"`
}

// NewCast makes the file at path, with mode 0600, for a screen of so many
// cells. The error says why the file can't be made.
func NewCast(path string, width, height int) (*Cast, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("the screen can't be recorded: %w", err)
	}
	return &Cast{width: width, height: height, file: f}, nil
}

// Show writes what has changed on the screen since the last call. The first
// call's title is the cast's. Lines are parted by line feeds and hold SGR
// sequences at most, each line its own; what is more than the height is left
// away.
func (c *Cast) Show(at time.Time, title, screen string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out strings.Builder
	if lost := c.Lost(); lost != c.lost { // draw everything anew
		c.lost, c.lines = lost, make([]string, c.height)
		out.WriteString("\x1b[0m\x1b[2J")
	}
	if c.begun.IsZero() {
		c.begun = at
		c.lines = make([]string, c.height)
		c.write(castHeader{Version: 2, Width: c.width, Height: c.height, Timestamp: at.Unix(), Title: title, Env: map[string]string{"TERM": "xterm-256color"}})
		// No cursor, no line wrap, an empty screen.
		out.WriteString("\x1b[?25l\x1b[?7l\x1b[0m\x1b[2J")
	}
	lines := strings.Split(screen, "\n")
	for i := range c.lines {
		line := ""
		if i < len(lines) {
			line = lines[i]
		}
		if line == c.lines[i] {
			continue
		}
		c.lines[i] = line
		fmt.Fprintf(&out, "\x1b[%d;1H\x1b[0m\x1b[2K%s\x1b[0m", i+1, line)
	}
	if out.Len() == 0 {
		return
	}
	c.last = max(c.last, at.Sub(c.begun)) // the clock may be set back
	c.write([]any{json.Number(fmt.Sprintf("%.6f", c.last.Seconds())), "o", out.String()})
}

func (c *Cast) write(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return // never: strings and numbers
	}
	c.file.write(append(b, '\n'))
}
