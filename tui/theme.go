package tui

import (
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
	ascii    bool // draw only ASCII characters
	textured bool // symbols, not colours, distinguish the layers

	dim, strong, accent, head style
	good, warn, bad           style
	fresh, active, alarm      style
	off                       style           // a node's lane
	news                      map[style]style // style of a recent change, by the usual style
	fills                     [layers]cover
	over                      [layers]style // the capacity line over a layer; empty if it would be invisible

	// Symbols.
	ellipsis, bullet, dash, arrow         string
	sortedUp, sortedDown                  string
	cursor, cursorOff, mark, changed, aim string
	up, down, leaving                     string // pods, drawn as dots
	okSign, warnSign, badSign             string
	underWay, toCome                      string // a trial's steps
	live, connecting, rec                 string
	full, free, none, tickNow, tickTarget string
	sent, open, axis, noData              string
	offOnly, offNotReady, notReady        string // a node's lane
	playing, paused                       string
	past, ahead, markPast, markAhead      string    // a replay's track
	rules                                 [8]string // a line at each eighth of a cell
	eighths                               []string  // from empty to full
	lowest                                string    // the sign for 0 in a graph
	box                                   boxGlyphs
}

type boxGlyphs struct {
	h, v, tl, tr, bl, br, ml, mr string
}

// newTheme builds what Options ask for.
func newTheme(o Options) *theme {
	t, c := symbols(o.ASCII), coloursOf(o)
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
	t.active = newStyle(reverse.Foreground(c.accent))
	t.alarm = newStyle(reverse.Foreground(c.bad))
	t.off = newStyle(base.Foreground(c.bad))
	t.paint(c, o.NoColor || t.ascii)
	return t
}

// paint sets the styles of the layers.
func (t *theme) paint(c colours, textured bool) {
	base := lipgloss.NewStyle()
	of := [layers]color.Color{layerServed: c.good, layerStalled: c.fresh, layerOnDead: c.bad, layerQueued: c.warn, layerWaiting: c.wait, layerUnknown: c.wait}
	for l := layerServed; l < layers; l++ {
		t.fills[l].look = newStyle(base.Foreground(of[l]))
		if textured {
			continue
		}
		t.fills[l].full = t.full
		t.over[l] = newStyle(base.Foreground(c.accent).Background(of[l]))
	}
	t.textured = textured
}

// swatch is a full cell of a layer.
func (t *theme) swatch(l layer) span { return span{t.fills[l].look, t.fills[l].full} }

func newStyle(s lipgloss.Style) style {
	on, _, _ := strings.Cut(s.Render("x"), "x")
	return style(on)
}

// symbols are the theme without its styles, in Unicode or in ASCII.
func symbols(ascii bool) *theme {
	of := func(unicode, plain string) string { return map[bool]string{false: unicode, true: plain}[ascii] }
	each := func(unicode, plain string) []string { return strings.Split(of(unicode, plain), ",") }
	return &theme{
		ascii:    ascii,
		ellipsis: of("…", ".."), bullet: of("·", "|"), dash: of("–", "-"), arrow: of("→", "->"), sortedUp: of("↑", "^"), sortedDown: of("↓", "v"),
		cursor: of("▌", ">"), cursorOff: of("▏", "|"), mark: of("■", "M"), changed: of("▸", "*"), aim: of("◆", "@"),
		up: of("●", "O"), down: of("○", "o"), leaving: of("◌", "d"),
		okSign: of("✓", "+"), warnSign: "!", badSign: of("✕", "X"),
		underWay: of("►", "/"), toCome: of("□", "_"),
		live: of("●", "*"), connecting: of("◌", "~"), rec: of("●", "*"),
		full: of("█", "#"), free: of("░", "."), none: of("·", " "), tickNow: of("┃", "|"), tickTarget: of("┊", ":"),
		fills: [layers]cover{layerServed: {full: of("█", "#")}, layerStalled: {full: of("▓", "%")}, layerOnDead: {full: of("▚", "&")},
			layerQueued: {full: of("▒", "Q")}, layerWaiting: {full: of("░", "W")}, layerUnknown: {full: "?"}},
		sent: of("•", ","), open: of("◦", "u"), axis: of("─", "-"), noData: of("┈", "."),
		offOnly: of("╌", ":"), offNotReady: of("═", ";"), notReady: of("┅", "~"),
		playing: of("►", ">"), paused: of("▍▍", "||"), past: of("━", "="), ahead: of("─", "-"), markPast: of("┿", "|"), markAhead: of("┼", "|"),
		rules:   [8]string(each("▁,▁,⎼,━,━,⎻,⎻,▔", "=,=,=,=,=,=,=,=")),
		eighths: each(" ,▁,▂,▃,▄,▅,▆,▇,█", " ,.,.,:,:,+,+,#,#"), lowest: of("▁", "_"),
		box: boxGlyphs{of("─", "-"), of("│", "|"), of("╭", "+"), of("╮", "+"), of("╰", "+"), of("╯", "+"), of("├", "+"), of("┤", "+")},
	}
}

// text makes a text from outside ready for this theme.
func (t *theme) text(s string) string {
	s = clean(s)
	if t.ascii {
		s = onlyASCII(s)
	}
	return s
}

// colours are the colours of the styles; nil is the terminal's own foreground.
type colours struct {
	good, warn, bad, accent, fresh color.Color
	wait                           color.Color // requests without an answer
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
		return colours{good: c("#7fc97f"), warn: c("#e6c15c"), bad: c("#ff6b6b"), accent: c("#6cc7e6"), fresh: c("#d99bff"), wait: c("#7484ab"), dim: c("#8a8f98")}
	case o.Theme == "light":
		return colours{good: c("#1a7f37"), warn: c("#9a6700"), bad: c("#b3261e"), accent: c("#0b5cad"), fresh: c("#7b2d9e"), wait: c("#8fa0c4"), dim: c("#5c6470")}
	case o.Theme == "contrast":
		return colours{good: ansi.BrightGreen, warn: ansi.BrightYellow, bad: ansi.BrightRed, accent: ansi.BrightCyan, fresh: ansi.BrightMagenta,
			wait: ansi.BrightBlue, dim: ansi.BrightWhite}
	}
	// The sixteen follow the terminal's palette, on light and on dark
	// backgrounds.
	return colours{good: ansi.Green, warn: ansi.Yellow, bad: ansi.Red, accent: ansi.Cyan, fresh: ansi.Magenta, wait: ansi.Blue}
}
