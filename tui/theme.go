package tui

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// style is a look as the escape sequence that switches it on; the empty style
// is the terminal's own. Cells are written with it directly, which costs
// nothing beside lipgloss.Style.Render.
type style string

// theme is every look and every symbol of the screen. It is built once.
type theme struct {
	ascii   bool // only ASCII characters may be drawn
	console bool // only those of a text console

	dim, strong, accent, head   style
	good, warn, bad             style
	fresh, title, focus, banner style
	bars                        map[barLook]style
	news                        map[style]style // of what has just changed, by its look
	blocks                      map[style]style // of tiles, by the look of their sign

	// Symbols.
	ellipsis, bullet, dash, arrow           string
	sortedUp, sortedDown                    string
	cursor, cursorOff, mark, changed, aim   string
	up, down, leaving                       string // pods as dots
	okSign, warnSign, badSign               string
	underWay, toCome                        string // of a trial's steps
	live, connecting, rec                   string
	full, light, free, none, line, target   string
	stalled, onDead, tickNow, tickTarget    string
	sent, open, axis, noData                string
	offOnly, offNotReady, notReady          string // a node's lane
	playing, paused                         string
	past, ahead, markPast, markAhead        string // a replay's track
	capDown, capUp, capTurn, capTop, capBot string
	eighths                                 []string // from empty to full
	lowest                                  string   // of a graph: a zero that can be seen
	box                                     boxGlyphs
}

// barLook tells the looks of a chart's cell apart.
type barLook int

const (
	lookServed barLook = iota
	lookQueued
	lookMixed // served below, queued above
	lookCapacity
	lookCapacityOnQueue
	lookTarget
	lookFailed
	lookStalled
	lookOnDead
	lookOff         // a node's machine is off, the control plane has not noticed
	lookOffNotReady // it has
	lookNotReady    // the machine is on
)

type boxGlyphs struct {
	h, v, tl, tr, bl, br, ml, mr string
}

// glyphs is a set of characters to draw with.
type glyphs int

const (
	glyphsUnicode glyphs = iota
	glyphsConsole        // what the fonts of text consoles have (code page 437)
	glyphsASCII
)

// glyphsFor chooses the characters.
func glyphsFor(o Options) glyphs {
	switch {
	case o.ASCII:
		return glyphsASCII
	case o.Console:
		return glyphsConsole
	}
	return glyphsUnicode
}

// newTheme builds the theme. Colours are the terminal's own sixteen, so that
// they follow its palette on light and on dark backgrounds; noColor leaves
// bold, faint and reverse.
func newTheme(g glyphs, noColor bool) *theme {
	t := unicodeTheme()
	switch g {
	case glyphsASCII:
		t = asciiTheme()
	case glyphsConsole:
		t = consoleTheme()
	}
	base := lipgloss.NewStyle()
	colour := func(s lipgloss.Style, c ansi.BasicColor) lipgloss.Style {
		if noColor {
			return s
		}
		return s.Foreground(c)
	}
	back := func(s lipgloss.Style, c ansi.BasicColor) lipgloss.Style {
		if noColor {
			return s
		}
		return s.Background(c)
	}
	t.dim = newStyle(base.Faint(true))
	t.strong = newStyle(base.Bold(true))
	t.accent = newStyle(colour(base, cyan))
	t.head = newStyle(base.Faint(true).Underline(true))
	t.good = newStyle(colour(base, green))
	t.warn = newStyle(colour(base, yellow))
	t.bad = newStyle(colour(base.Bold(true), red))
	t.fresh = newStyle(colour(base.Bold(true), magenta))
	t.news = map[style]style{"": newStyle(base.Bold(true).Reverse(true))}
	for _, c := range []struct {
		st    style
		color ansi.BasicColor
	}{{t.good, green}, {t.warn, yellow}, {t.bad, red}} {
		t.news[c.st] = newStyle(colour(base.Bold(true).Reverse(true), c.color))
	}
	t.blocks = map[style]style{}
	for _, c := range []struct {
		st    style
		color ansi.BasicColor
	}{{t.good, green}, {t.warn, yellow}, {t.bad, red}, {t.fresh, magenta}} {
		t.blocks[c.st] = newStyle(colour(base.Reverse(true), c.color))
	}
	t.title = newStyle(base.Bold(true))
	t.focus = newStyle(colour(base.Bold(true).Reverse(true), cyan))
	t.banner = newStyle(colour(base.Bold(true).Reverse(true), red))
	t.bars = map[barLook]style{
		lookServed:          newStyle(colour(base, green)),
		lookQueued:          newStyle(colour(base, yellow)),
		lookMixed:           newStyle(back(colour(base, green), yellow)),
		lookCapacity:        newStyle(colour(base.Bold(true), cyan)),
		lookCapacityOnQueue: newStyle(back(colour(base, black), yellow)),
		lookTarget:          newStyle(base.Faint(true)),
		lookFailed:          newStyle(colour(base.Bold(true).Reverse(true), red)),
		lookStalled:         newStyle(colour(base, magenta)),
		lookOnDead:          newStyle(colour(base.Bold(true), red)),
		lookOff:             newStyle(colour(base, red)),
		lookOffNotReady:     newStyle(colour(base, red)),
		lookNotReady:        newStyle(colour(base, yellow)),
	}
	return t
}

// The terminal's own colours by number.
const (
	black   = ansi.Black
	red     = ansi.Red
	green   = ansi.Green
	yellow  = ansi.Yellow
	magenta = ansi.Magenta
	cyan    = ansi.Cyan
)

func newStyle(s lipgloss.Style) style {
	on, _, _ := strings.Cut(s.Render("x"), "x")
	return style(on)
}

// just gives the look of a word that has just changed.
func (t *theme) just(st style) style {
	if n, ok := t.news[st]; ok {
		return n
	}
	return t.news[""]
}

// tile gives the look of a tile whose sign has a look.
func (t *theme) tile(st style) style {
	if b, ok := t.blocks[st]; ok {
		return b
	}
	return t.dim
}

func unicodeTheme() *theme {
	return &theme{
		ellipsis: "…", bullet: "·", dash: "–", arrow: "→", sortedUp: "↑", sortedDown: "↓",
		cursor: "▌", cursorOff: "▏", mark: "■", changed: "▸", aim: "◆",
		up: "●", down: "○", leaving: "◌",
		okSign: "✓", warnSign: "!", badSign: "✕",
		underWay: "►", toCome: "□",
		live: "●", connecting: "◌", rec: "●",
		full: "█", light: "▒", free: "░", none: "·", line: "━", target: "┄",
		stalled: "▓", onDead: "▚", tickNow: "┃", tickTarget: "┊",
		sent: "•", open: "◦", axis: "─", noData: "┈",
		offOnly: "╌", offNotReady: "═", notReady: "┅",
		playing: "►", paused: "▍▍", past: "━", ahead: "─", markPast: "┿", markAhead: "┼",
		capDown: "┓", capUp: "┏", capTurn: "┃", capTop: "┛", capBot: "┗",
		eighths: []string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, lowest: "▁",
		box: boxGlyphs{"─", "│", "╭", "╮", "╰", "╯", "├", "┤"},
	}
}

// consoleTheme keeps to the characters of code page 437, which the kernel's
// console fonts have.
func consoleTheme() *theme {
	t := unicodeTheme()
	t.console = true
	t.ellipsis, t.dash = "..", "-"
	t.cursorOff, t.mark, t.changed, t.aim = "│", "►", "*", "♦"
	t.up, t.leaving = "■", "◘"
	t.okSign, t.badSign = "√", "X"
	t.underWay, t.toCome = "»", "."
	t.live, t.connecting, t.rec = "•", "○", "•"
	t.line, t.target, t.tickNow, t.tickTarget = "═", "-", "║", ":"
	t.onDead, t.open, t.noData = "▐", "°", "·"
	t.offOnly, t.offNotReady, t.notReady = "-", "≡", "~"
	t.playing, t.paused = "»", "║"
	t.past, t.markPast = "═", "╪"
	t.capDown, t.capUp, t.capTurn, t.capTop, t.capBot = "╗", "╔", "║", "╝", "╚"
	t.eighths = []string{" ", "▄", "▄", "▄", "▄", "▄", "█", "█", "█"}
	t.lowest = "_"
	t.box = boxGlyphs{"─", "│", "┌", "┐", "└", "┘", "├", "┤"}
	return t
}

func asciiTheme() *theme {
	return &theme{
		ascii:    true,
		ellipsis: "..", bullet: "|", dash: "-", arrow: "->", sortedUp: "^", sortedDown: "v",
		cursor: ">", cursorOff: "|", mark: "M", changed: "*", aim: "@",
		up: "O", down: "o", leaving: "d",
		okSign: "+", warnSign: "!", badSign: "X",
		underWay: "/", toCome: "_",
		live: "*", connecting: "~", rec: "*",
		full: "#", light: "q", free: ".", none: " ", line: "=", target: ".",
		stalled: "%", onDead: "&", tickNow: "|", tickTarget: ":",
		sent: ",", open: "u", axis: "-", noData: ".",
		offOnly: ":", offNotReady: ";", notReady: "~",
		playing: ">", paused: "||", past: "=", ahead: "-", markPast: "|", markAhead: "|",
		capDown: "+", capUp: "+", capTurn: "|", capTop: "+", capBot: "+",
		eighths: []string{" ", ".", ".", ":", ":", "+", "+", "#", "#"}, lowest: "_",
		box: boxGlyphs{"-", "|", "+", "+", "+", "+", "+", "+"},
	}
}

// text makes a text from outside ready for this theme.
func (t *theme) text(s string) string {
	s = clean(s)
	switch {
	case t.ascii:
		s = onlyASCII(s)
	case t.console:
		s = onlyConsole(s)
	}
	return s
}
