package record

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Cast writes the screen as an asciicast (docs.asciinema.org/manual/asciicast), a
// format that many players support. Each frame is one write, so that the file is
// complete up to the end of the program. One goroutine may use it; Err and Lost are
// safe for all.
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
	// Names replaces names; nil leaves them as they are.
	Names *Names
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
}

const noScreen = "the screen can't be recorded"

// newCast creates the file at path, with mode 0600. The error is the reason why it
// cannot.
func newCast(path string, o CastOptions) (*Cast, error) {
	f, err := openFile(path, noScreen)
	return &Cast{o: o, file: f}, err
}

// Resize changes the size of the screen from now on.
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

// Show writes the changes of the screen since the last call. The first call's title is
// the cast's. Line feeds separate the lines. Each line may contain SGR sequences, but
// no other ones, and is complete in itself. Show drops lines beyond the height.
func (c *Cast) Show(at time.Time, title, screen string) {
	var out strings.Builder
	if c.begun.IsZero() {
		c.begin(at, title)
		out.WriteString("\x1b[?25l\x1b[?7l") // no cursor, no line wrap
	}
	if lost := c.Lost(); c.lines == nil || lost != c.lost { // draw everything again
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
	c.add(castHeader{
		Version: 2, Width: c.o.Width, Height: c.o.Height, Timestamp: at.Unix(), Title: c.o.Names.Text(title),
		Env: map[string]string{"TERM": "xterm-256color"},
	})
}

// event writes an event with its offset from the start.
func (c *Cast) event(at time.Time, code, data string) {
	c.last = max(c.last, at.Sub(c.begun).Truncate(time.Microsecond)) // the clock may be set back
	c.add([]any{json.Number(fmt.Sprintf("%.6f", c.last.Seconds())), code, data})
}

// queued is how many pictures may wait for the disk.
const queued = 256

// Screen records a live screen as a cast, in a goroutine of its own, so that it never
// delays drawing. It drops frames for which there is no room, and a marker has their
// number. One goroutine may call its methods.
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

// NewScreen creates the cast at path; it overwrites no file. The error is the reason
// why it cannot.
func NewScreen(path, title string, o CastOptions) (*Screen, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("the screen can't be recorded to %s: the file already exists", path)
	}
	cast, err := newCast(path, o)
	if err != nil {
		return nil, err
	}
	s := &Screen{cast: cast, title: title, queue: make(chan shot, queued), done: make(chan struct{})}
	go s.run()
	return s, nil
}

// Show takes the present screen, with this many cells: see Cast.Show.
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
func (s *Screen) Err() error {
	if err := s.failing.Load(); err != nil {
		return *err
	}
	return nil
}

// Close writes the waiting frames and closes the file. The error contains the number of
// missing frames.
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
