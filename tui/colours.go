package tui

import (
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

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
