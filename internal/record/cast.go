package record

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// cast writes the screen as an asciicast (docs.asciinema.org/manual/asciicast), a
// format that many players support. Each frame is one write, so that the file is
// complete up to the end of the program. One goroutine may use it.
type cast struct {
	*file
	title         string
	theme         json.RawMessage // the header's; nil: unknown
	names         *Names          // replaced; nil: none
	begun         time.Time
	last          time.Duration // of the newest event, since begun
	width, height int           // the screen's size in cells
	lines         []string      // as they stand on the screen
	lost          int           // of the lines lost, those that have been made good
}

// castHeader is the first line of a cast, of version 2: more players support it than
// version 3.
type castHeader struct {
	Version   int               `json:"version"`
	Width     int               `json:"width"`
	Height    int               `json:"height"`
	Timestamp int64             `json:"timestamp"`
	Title     string            `json:"title,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Theme     json.RawMessage   `json:"theme,omitempty"`
}

// show writes the changes of the screen since the last call. It drops lines beyond the height,
// and the marks before the first picture.
func (c *cast) show(x shot) {
	var out strings.Builder
	resized := x.width != c.width || x.height != c.height
	switch {
	case c.begun.IsZero():
		c.begun = x.at
		c.add(castHeader{
			Version: 2, Width: x.width, Height: x.height, Timestamp: x.at.Unix(), Title: c.names.Text(c.title),
			Env: map[string]string{"TERM": "xterm-256color"}, Theme: c.theme,
		})
		out.WriteString("\x1b[?25l\x1b[?7l") // no cursor, no line wrap
		x.marks = nil
	case resized:
		c.event(x.at, "r", fmt.Sprintf("%dx%d", x.width, x.height))
	}
	for _, text := range x.marks { // players show them and can go to them
		c.event(x.at, "m", c.names.Text(text))
	}
	if lost := c.Lost(); resized || lost != c.lost { // draw everything again
		c.width, c.height, c.lost, c.lines = x.width, x.height, lost, make([]string, x.height)
		out.WriteString("\x1b[0m\x1b[2J")
	}
	lines := append(strings.Split(x.screen, "\n"), make([]string, c.height)...)
	for i, line := range lines[:c.height] {
		if line == c.lines[i] {
			continue
		}
		c.lines[i] = line
		fmt.Fprintf(&out, "\x1b[%d;1H\x1b[0m\x1b[2K%s\x1b[0m", i+1, c.names.Line(line))
	}
	if out.Len() > 0 {
		c.event(x.at, "o", out.String())
	}
}

// end ends the cast, so that a terminal on which it is played wraps lines and
// shows its cursor again, and closes the file.
func (c *cast) end() error {
	if !c.begun.IsZero() {
		c.event(c.begun.Add(c.last), "o", fmt.Sprintf("\x1b[?7h\x1b[?25h\x1b[%d;1H", c.height))
	}
	return c.Close()
}

// event writes an event with its offset from the start.
func (c *cast) event(at time.Time, code, data string) {
	c.last = max(c.last, at.Sub(c.begun).Truncate(time.Microsecond)) // the clock may be set back
	c.add([]any{json.Number(fmt.Sprintf("%.6f", c.last.Seconds())), code, data})
}

// noScreen begins the errors about a screen's file.
const noScreen = "the screen can't be recorded"

// queued is how many pictures may wait for the disk.
const queued = 256

// Screen records a live screen as a cast, in a goroutine of its own, so that it never
// delays drawing. It drops frames for which there is no room, and a marker has their
// number. One goroutine may call its methods.
type Screen struct {
	cast    cast
	queue   chan shot
	done    chan struct{}
	last    string
	next    shot // its marks wait for a picture
	missing int  // since the last picture that had room
	left    int  // out, in all
	failing atomic.Pointer[error]
}

// shot is a picture, and the markers before it.
type shot struct {
	at            time.Time
	width, height int
	screen        string
	marks         []string
}

// NewScreen creates the cast at path, with mode 0600; it overwrites no file. theme has the colours of
// the screen, as an asciicast's header has them; nil if they are unknown. names are replaced; nil leaves them as they are. The error is the reason why it cannot.
func NewScreen(path, title string, theme json.RawMessage, names *Names) (*Screen, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("the screen can't be recorded to %s: the file already exists", path)
	}
	f, err := openFile(path, noScreen)
	if err != nil {
		return nil, err
	}
	s := &Screen{cast: cast{file: f, title: title, theme: theme, names: names}, queue: make(chan shot, queued), done: make(chan struct{})}
	go s.run()
	return s, nil
}

// Show takes the present screen, with this many cells. Line feeds separate its lines. Each may
// contain SGR sequences, but no other ones, and is complete in itself.
func (s *Screen) Show(at time.Time, width, height int, screen string) {
	same := screen == s.last && width == s.next.width && height == s.next.height
	if width < 1 || height < 1 || same && len(s.next.marks) == 0 {
		return
	}
	s.next.at, s.next.width, s.next.height, s.next.screen = at, width, height, screen
	x := s.next
	if s.missing > 0 {
		x.marks = append(x.marks[:len(x.marks):len(x.marks)], fmt.Sprintf("frames left out here: %d", s.missing))
	}
	select {
	case s.queue <- x:
		s.last, s.next.marks, s.missing = screen, nil, 0
	default:
		s.missing++
		s.left++
	}
}

// Mark puts a marker before the next picture.
func (s *Screen) Mark(text string) { s.next.marks = append(s.next.marks, text) }

// LeftOut is how many pictures are not in the cast.
func (s *Screen) LeftOut() int { return s.left }

// Err returns the reason why the last frame could not be written yet; nil if it was.
func (s *Screen) Err() error { return orZero(s.failing.Load()) }

// Close writes the waiting frames and closes the file. The error contains the number of
// missing frames.
func (s *Screen) Close() error {
	close(s.queue)
	<-s.done
	return s.cast.end()
}

func (s *Screen) run() {
	defer close(s.done)
	for x := range s.queue {
		s.cast.show(x)
		err := s.cast.Err()
		s.failing.Store(&err)
	}
}
