package tui

import (
	"lightsout/internal/view"
)

// chartOf draws a frame's requests pane and gives it without looks.
func chartOf(f *view.Frame, w, h int) (*Model, string) {
	m, _, _ := testModel(f, w, h, Options{})
	typeKeys(m, "4 z")
	return m, plainView(m)
}
