package record

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Cast writes what was on the screen as an asciicast
// (docs.asciinema.org/manual/asciicast), which many programs play. Each
// picture is one write, so that the file is whole up to the moment at which
// the program ended. It belongs to one goroutine, but for Err and Lost.
type Cast struct {
	*file

	o     CastOptions
	begun time.Time
	last  time.Duration // of the newest event, since begun
	lines []string      // as they stand on the screen; nil: all is to be drawn
	lost  int           // of the lines lost, those that have been made good
}

// CastOptions say how a cast is written.
type CastOptions struct {
	// Width and Height are the screen's size in cells.
	Width, Height int
	// Version is that of the format, 2 or 3; 0 is 2, which more programs play.
	Version int
	// Names replaces names; nil leaves them as they are.
	Names *Names
}

// castHeader is the first line of a cast, of version 2 or 3.
type castHeader struct {
	Version   int               `json:"version"`
	Width     int               `json:"width,omitzero"`
	Height    int               `json:"height,omitzero"`
	Term      *castTerm         `json:"term,omitempty"`
	Timestamp int64             `json:"timestamp"`
	Title     string            `json:"title,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
}

type castTerm struct {
	Cols int    `json:"cols"`
	Rows int    `json:"rows"`
	Type string `json:"type"`
}

const castTerminal = "xterm-256color"

const noScreen = "the screen can't be recorded"

// NewCast makes the file at path, with mode 0600. The error says why the file
// can't be made.
func NewCast(path string, o CastOptions) (*Cast, error) {
	f, err := openFile(path, noScreen)
	return &Cast{o: o, file: f}, err
}

// Resize says that the screen has another size from now on.
func (c *Cast) Resize(at time.Time, width, height int) {
	if width == c.o.Width && height == c.o.Height {
		return
	}
	c.o.Width, c.o.Height, c.lines = width, height, nil
	if !c.begun.IsZero() {
		c.event(at, "r", fmt.Sprintf("%dx%d", width, height))
	}
}

// Mark puts a marker, which players show and can go to. Before the first
// picture there is nothing to be marked.
func (c *Cast) Mark(at time.Time, text string) {
	if !c.begun.IsZero() {
		c.event(at, "m", c.o.Names.Text(text))
	}
}

// Show writes what has changed on the screen since the last call. The first
// call's title is the cast's. Lines are parted by line feeds and hold SGR
// sequences at most, each line its own; what is more than the height is left
// away.
func (c *Cast) Show(at time.Time, title, screen string) {
	var out strings.Builder
	if c.begun.IsZero() {
		c.begin(at, title)
		out.WriteString("\x1b[?25l\x1b[?7l") // no cursor, no line wrap
	}
	if lost := c.Lost(); c.lines == nil || lost != c.lost { // draw everything anew
		c.lost, c.lines = lost, make([]string, c.o.Height)
		out.WriteString("\x1b[0m\x1b[2J")
	}
	lines := append(strings.Split(screen, "\n"), make([]string, len(c.lines))...)
	for i, line := range lines[:len(c.lines)] {
		if line == c.lines[i] {
			continue
		}
		c.lines[i] = line
		fmt.Fprintf(&out, "\x1b[%d;1H\x1b[0m\x1b[2K%s\x1b[0m", i+1, c.o.Names.Line(line))
	}
	if out.Len() > 0 {
		c.event(at, "o", out.String())
	}
}

// Close ends the cast, so that a terminal on which it is played wraps lines and
// shows its cursor again, and closes the file.
func (c *Cast) Close() error {
	if !c.begun.IsZero() {
		c.event(c.begun.Add(c.last), "o", fmt.Sprintf("\x1b[?7h\x1b[?25h\x1b[%d;1H", c.o.Height))
	}
	return c.file.Close()
}

// begin writes the header.
func (c *Cast) begin(at time.Time, title string) {
	c.begun = at
	h := castHeader{Version: 2, Timestamp: at.Unix(), Title: c.o.Names.Text(title)}
	if c.o.Version == 3 {
		h.Version, h.Term = 3, &castTerm{Cols: c.o.Width, Rows: c.o.Height, Type: castTerminal}
	} else {
		h.Width, h.Height, h.Env = c.o.Width, c.o.Height, map[string]string{"TERM": castTerminal}
	}
	c.add(h)
}

// event writes an event: in version 2 with the time since the beginning, in
// version 3 with that since the event before.
func (c *Cast) event(at time.Time, code, data string) {
	last := c.last
	c.last = max(c.last, at.Sub(c.begun).Truncate(time.Microsecond)) // the clock may be set back
	since := c.last
	if c.o.Version == 3 {
		since -= last
	}
	c.add([]any{json.Number(fmt.Sprintf("%.6f", since.Seconds())), code, data})
}

// queued is how many pictures may wait for the disk.
const queued = 256

// Screen records a live screen as a cast, in a goroutine of its own: who draws
// is never held up. Pictures for which there is no room are left out, and a
// marker says how many. Its methods belong to one goroutine.
type Screen struct {
	cast    *Cast
	title   string
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

// NewScreen makes the cast at path; no file is written over. The error says why
// it can't be made.
func NewScreen(path, title string, o CastOptions) (*Screen, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("the screen can't be recorded to %s: there is such a file already", path)
	}
	cast, err := NewCast(path, o)
	if err != nil {
		return nil, err
	}
	s := &Screen{cast: cast, title: title, queue: make(chan shot, queued), done: make(chan struct{})}
	go s.run()
	return s, nil
}

// Show takes what is on the screen now, of so many cells: see Cast.Show.
func (s *Screen) Show(at time.Time, width, height int, screen string) {
	same := screen == s.last && width == s.next.width && height == s.next.height
	if width < 1 || height < 1 || same && len(s.next.marks) == 0 {
		return
	}
	s.next.at, s.next.width, s.next.height, s.next.screen = at, width, height, screen
	x := s.next
	if s.missing > 0 {
		x.marks = append(x.marks[:len(x.marks):len(x.marks)], fmt.Sprintf("pictures left out here: %d", s.missing))
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

// Err says why the picture taken last could not be written yet; nil when it was.
func (s *Screen) Err() error {
	if err := s.failing.Load(); err != nil {
		return *err
	}
	return nil
}

// Close writes what waits and closes the file. The error says what is missing.
func (s *Screen) Close() error {
	close(s.queue)
	<-s.done
	return s.cast.Close()
}

func (s *Screen) run() {
	defer close(s.done)
	for x := range s.queue {
		s.cast.Resize(x.at, x.width, x.height)
		for _, text := range x.marks {
			s.cast.Mark(x.at, text)
		}
		s.cast.Show(x.at, s.title, x.screen)
		err := s.cast.file.Err()
		s.failing.Store(&err)
	}
}
