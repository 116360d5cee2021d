package tui

import (
	"cmp"
	"image/color"
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

	dim, strong, accent, head style
	good, warn, bad           style
	fresh, focus, banner      style
	bars                      barLooks
	news                      map[style]style // of what has just changed, by its look
	blocks                    map[style]style // of tiles, by the look of their sign

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
	sent, open, axis, noData, unread        string
	offOnly, offNotReady, notReady          string // a node's lane
	playing, paused                         string
	past, ahead, markPast, markAhead        string // a replay's track
	capDown, capUp, capTurn, capTop, capBot string
	eighths                                 []string // from empty to full
	lowest                                  string   // of a graph: a zero that can be seen
	box                                     boxGlyphs
}

// barLooks are the looks of a chart's cells, beside those of what is good (served),
// to be minded (queued, not Ready) or bad (sent to dead nodes).
type barLooks struct {
	stalled, failed           style
	mixed                     style // served below, queued above
	capacity, capacityOnQueue style
	off                       style // of a node's lane
}

type boxGlyphs struct {
	h, v, tl, tr, bl, br, ml, mr string
}

// newTheme builds what Options ask for.
func newTheme(o Options) *theme {
	t, c := unicodeTheme(), coloursOf(o)
	switch {
	case o.ASCII:
		t = asciiTheme()
	case o.Console:
		t = consoleTheme()
	}
	base := lipgloss.NewStyle()
	bold, reverse := base.Bold(true), base.Bold(true).Reverse(true)
	t.dim = newStyle(base.Faint(c.dim == nil).Foreground(c.dim))
	t.strong = newStyle(bold)
	t.accent = newStyle(base.Foreground(c.accent))
	t.head = newStyle(base.Faint(c.dim == nil).Underline(true).Foreground(c.dim))
	t.good = newStyle(base.Foreground(c.good))
	t.warn = newStyle(base.Foreground(c.warn))
	t.bad = newStyle(bold.Foreground(c.bad))
	t.fresh = newStyle(bold.Foreground(c.fresh))
	t.news = map[style]style{
		"": newStyle(reverse), t.good: newStyle(reverse.Foreground(c.good)), t.warn: newStyle(reverse.Foreground(c.warn)), t.bad: newStyle(reverse.Foreground(c.bad)),
	}
	t.blocks = map[style]style{}
	for st, c := range map[style]color.Color{t.good: c.good, t.warn: c.warn, t.bad: c.bad, t.fresh: c.fresh} {
		t.blocks[st] = newStyle(base.Reverse(true).Foreground(c))
	}
	t.focus = newStyle(reverse.Foreground(c.accent))
	t.banner = newStyle(reverse.Foreground(c.bad))
	t.bars = barLooks{
		mixed:           newStyle(base.Foreground(c.good).Background(c.warn)),
		capacity:        newStyle(bold.Foreground(c.accent)),
		capacityOnQueue: newStyle(base.Foreground(c.onWarn).Background(c.warn)),
		failed:          newStyle(reverse.Foreground(c.bad)),
		stalled:         newStyle(base.Foreground(c.fresh)),
		off:             newStyle(base.Foreground(c.bad)),
	}
	return t
}

func newStyle(s lipgloss.Style) style {
	on, _, _ := strings.Cut(s.Render("x"), "x")
	return style(on)
}

// tile gives the look of a tile whose sign has a look.
func (t *theme) tile(st style) style { return cmp.Or(t.blocks[st], t.dim) }

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
		sent: "•", open: "◦", axis: "─", noData: "┈", unread: "?",
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
		sent: ",", open: "u", axis: "-", noData: ".", unread: "?",
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
		s = consoleWords.Replace(s)
	}
	return s
}

// colours are what the looks are made of; nil is the terminal's own foreground.
type colours struct {
	good, warn, bad, accent, fresh color.Color
	onWarn                         color.Color // drawn on warn
	dim                            color.Color // nil: faint
}

// Themes are the colours to choose from, by name; the empty one is the
// terminal's own sixteen.
var Themes = []string{"", "dark", "light", "contrast"}

// coloursOf gives a theme's colours; none where there are to be none.
func coloursOf(o Options) colours {
	c := lipgloss.Color
	switch {
	case o.NoColor:
		return colours{}
	case o.Theme == "dark":
		return colours{good: c("#7fc97f"), warn: c("#e6c15c"), bad: c("#ff6b6b"), accent: c("#6cc7e6"), fresh: c("#d99bff"), onWarn: c("#202020"), dim: c("#8a8f98")}
	case o.Theme == "light":
		return colours{good: c("#1a7f37"), warn: c("#9a6700"), bad: c("#b3261e"), accent: c("#0b5cad"), fresh: c("#7b2d9e"), onWarn: c("#ffffff"), dim: c("#5c6470")}
	case o.Theme == "contrast":
		return colours{good: ansi.BrightGreen, warn: ansi.BrightYellow, bad: ansi.BrightRed, accent: ansi.BrightCyan, fresh: ansi.BrightMagenta,
			onWarn: ansi.Black, dim: ansi.BrightWhite}
	}
	// The sixteen follow the terminal's palette, on light and on dark
	// backgrounds.
	return colours{good: ansi.Green, warn: ansi.Yellow, bad: ansi.Red, accent: ansi.Cyan, fresh: ansi.Magenta, onWarn: ansi.Black}
}
