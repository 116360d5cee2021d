package terminal

import (
	"bytes"
	"context"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
)

const (
	// askedEvery is the number of bytes that lightsout writes to a promptly answering
	// terminal before it asks for the next answer. With more requests, the answers
	// would delay the Escape key, which a pause of 50 ms separates from a sequence.
	askedEvery = 1 << 10
	// prompt is when an answer comes from a line that needs no care.
	prompt = 100 * time.Millisecond
	// drawnWithin is when a frame that was handed out has been written.
	drawnWithin = 10 * time.Millisecond
	// givenUp is how long an answer of the terminal is waited for at most; a whole
	// screen takes about 3 s on a line of 2 KB/s.
	givenUp = 4 * time.Second
	// leaveWithin is how long after the last question the terminal is kept for its
	// answer when it is to be given away.
	leaveWithin = 2 * time.Second
)

// Device status: each terminal answers the question with the answer once it has
// shown the output before it (ECMA-48, DSR).
const (
	question = "\x1b[5n"
	answer   = uv.UnknownCsiEvent("\x1b[0n")
)

// budget delays frames that the terminal would get only behind output that it has not shown yet. On
// a slow line it drops frames and never queues them. It does not delay keys: the screen answers them
// by itself. It does not wait for a terminal that has not answered or has stopped
// answering. It is safe for concurrent use.
type budget struct {
	mu      sync.Mutex
	news    chan struct{} // closed at the next answer
	unasked int           // written since the last question
	asked   int           // questions that are on their way
	askedAt time.Time     // the last one
	answers bool          // the terminal is one that answers
	slow    bool          // and takes its time
	quiet   bool          // the terminal is given away: what it answers is the shell's
}

func newBudget() *budget { return &budget{news: make(chan struct{})} }

// countedFile counts the bytes written to a terminal, and asks it when that has been
// shown.
type countedFile struct {
	*os.File
	b *budget

	mu sync.Mutex // held by who writes, and while the terminal is given away
}

// eraseScreen begins a screen that is drawn anew, at its first cell. The rows that scroll are then
// all rows: bubbletea (v2.0.9) sets them to the height that it knows, and the terminal may have
// been resized meanwhile.
const (
	eraseScreen = "\x1b[2J"
	allScroll   = "\x1b[r"
)

// Write writes p, counts it, and asks the terminal when that is due.
func (f *countedFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data := bytes.ReplaceAll(p, []byte(eraseScreen), []byte(allScroll+eraseScreen))
	if len(p) > 0 && f.b.asks(len(p)) {
		data = append(data, question...)
	}
	n, err := f.File.Write(data)
	return min(n, len(p)), err
}

// asks counts n bytes, and reports whether a question is to follow them: after
// each write to a slow terminal, now and then to a prompt one, and to one that has
// not answered yet no second.
func (b *budget) asks(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unasked += n
	due := b.asked == 0
	if b.answers {
		due = b.slow || b.unasked >= askedEvery
	}
	if b.quiet || !due {
		return false
	}
	b.asked++
	b.unasked, b.askedAt = 0, time.Now()
	return true
}

// takes reports whether msg is an answer of the terminal, which is nobody else's.
func (b *budget) takes(msg tea.Msg) bool {
	if e, ok := msg.(uv.UnknownCsiEvent); !ok || e != answer {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = max(0, b.asked-1)
	b.answers, b.slow = true, time.Since(b.askedAt) > prompt || b.slow && b.asked > 0
	close(b.news)
	b.news = make(chan struct{})
	return true
}

// wait waits until what was written is shown, if the terminal is known to answer; or ctx ends.
func (b *budget) wait(ctx context.Context) {
	b.mu.Lock()
	answers, slow := b.answers, b.slow
	b.mu.Unlock()
	if answers && slow {
		select {
		case <-ctx.Done():
		case <-time.After(drawnWithin):
		}
	}
	if answers {
		b.answered(ctx, givenUp)
	}
}

// answered waits until no question is on its way, for at most that long; or ctx
// ends. A terminal that has not answered in that time is one that does not, until
// it does again.
func (b *budget) answered(ctx context.Context, most time.Duration) {
	end := time.After(most)
	for {
		b.mu.Lock()
		all, news := b.asked == 0, b.news
		b.mu.Unlock()
		if all {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-news:
		case <-end:
			b.mu.Lock()
			b.answers = false
			b.mu.Unlock()
			return
		}
	}
}

// giveAway asks no more, and waits for the answers that are on their way, so that
// no shell gets them.
func (b *budget) giveAway() {
	b.mu.Lock()
	b.quiet = true
	rest := leaveWithin - time.Since(b.askedAt)
	b.mu.Unlock()
	b.answered(context.Background(), max(0, rest))
}

// takeBack asks again.
func (b *budget) takeBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.quiet, b.asked = false, 0
}

// givenAway is a message that gives the terminal away, once that may be.
type givenAway struct{ tea.Msg }

// filter keeps the terminal's answers from the screen, and holds back what gives
// the terminal away, until it has answered; send is the screen's.
func (b *budget) filter(msg tea.Msg, send func(tea.Msg)) tea.Msg {
	if b.takes(msg) {
		return nil
	}
	switch m := msg.(type) {
	case tea.QuitMsg, tea.SuspendMsg:
		go func() {
			b.giveAway()
			send(givenAway{m})
		}()
		return nil
	case givenAway:
		return m.Msg
	case tea.ResumeMsg:
		b.takeBack()
	}
	return msg
}
