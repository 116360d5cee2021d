package export

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Limits of a recording.
const (
	maxLine  = 4 << 20
	maxCells = 500 * 200
	maxTime  = 24 * time.Hour
)

// Cast is a recorded screen, as asciicast v2 or v3 has it
// (docs.asciinema.org/manual/asciicast).
type Cast struct {
	Width, Height int
	// Events are in order of At.
	Events []Event
	theme  *theme // nil: none of Themes
}

// Event is one thing that happened to the screen.
type Event struct {
	At time.Duration // since the beginning
	// Code is "o" (output), "r" (resize), "m" (marker), "i" (input) or "x".
	Code, Data string
}

// Read reads a cast. One that was cut short is read up to there. Errors are
// one sentence and name the line.
func Read(r io.Reader) (*Cast, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	if !lines.Scan() {
		return nil, errors.Join(errors.New("this is not a recorded screen: it is empty"), lines.Err())
	}
	var head struct {
		Version, Width, Height int
		Theme                  struct{ Bg string }
		Term                   struct{ Cols, Rows int }
	}
	if err := json.Unmarshal(lines.Bytes(), &head); err != nil || head.Version < 2 || head.Version > 3 {
		return nil, errors.New("this is not a recorded screen: its first line is not the header of an asciicast of version 2 or 3; `asciinema convert` makes them of version 1")
	}
	c := &Cast{Width: head.Width, Height: head.Height, theme: themeOf(head.Theme.Bg)}
	if head.Version == 3 {
		c.Width, c.Height = head.Term.Cols, head.Term.Rows
	}
	if !drawable(c.Width, c.Height) {
		return nil, fmt.Errorf("a screen of %d by %d cells can't be drawn", c.Width, c.Height)
	}
	var at time.Duration
	for n := 2; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		var seconds float64
		var code, data string
		fields := []any{&seconds, &code, &data}
		err := json.Unmarshal([]byte(text), &fields)
		if errors.As(err, new(*json.SyntaxError)) {
			break // cut short
		}
		if err != nil || len(fields) < 3 || seconds < 0 || seconds > maxTime.Seconds() {
			return nil, fmt.Errorf("line %d: an event is written like [1.5, \"o\", \"text\"]", n)
		}
		t := time.Duration(seconds * float64(time.Second))
		if head.Version == 3 { // since the event before
			t += at
		}
		at = max(at, t)
		c.Events = append(c.Events, Event{at, code, data})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("the recorded screen can't be read: %w", err)
	}
	return c, nil
}

// drawable reports a size that a screen can have here.
func drawable(width, height int) bool {
	return width > 0 && height > 0 && width <= maxCells/height
}
