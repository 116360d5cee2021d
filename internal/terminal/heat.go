package terminal

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"lightsout/tui"
)

// ShowHeat shows a heat map until the operator quits.
func ShowHeat(ctx context.Context, h *tui.HeatMap) error {
	h.ASCII = h.ASCII || asciiOnly()
	opts := []tea.ProgramOption{tea.WithContext(ctx)}
	color, err := ColorProfile("auto")
	if err == nil && color != nil {
		opts = append(opts, tea.WithColorProfile(*color))
	}
	_, err = tea.NewProgram(h, opts...).Run()
	return err
}
