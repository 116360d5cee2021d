package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// heatOf is a heat map of this many nodes; a pair of the first node is too much.
func heatOf(nodes int) *HeatMap {
	h := &HeatMap{Title: "node n00 can't be spared", ASCII: true}
	for i := range nodes {
		h.Names = append(h.Names, fmt.Sprintf("n%02d", i))
		var row []HeatCell
		for k := range nodes {
			c := HeatCell{Brief: fmt.Sprintf("n%02d + n%02d: 0", i, k), Explain: []string{"Every pod finds a node."}}
			if i*k == 0 {
				c = HeatCell{Heat: 4, Brief: fmt.Sprintf("n%02d + n%02d: 12 without a node", i, k), Explain: []string{"d/web: 12 Pending: 0/9 nodes are available: " + strings.Repeat("3 Insufficient memory, ", 9)}}
			}
			row = append(row, c)
		}
		h.Cells = append(h.Cells, row)
	}
	h.Init()
	return h
}

func (h *HeatMap) keys(names ...rune) {
	for _, k := range names {
		h.Update(tea.KeyPressMsg{Code: k})
	}
}

func TestAHeatMapFitsTheScreenAndExplainsACell(t *testing.T) {
	for _, s := range []size{{80, 24}, {120, 36}, {40, 10}} {
		for _, nodes := range []int{1, 10, 100} {
			h := heatOf(nodes)
			h.Update(tea.WindowSizeMsg{Width: s.w, Height: s.h})
			for range nodes {
				h.keys(tea.KeyDown, tea.KeyRight)
			}
			lines := strings.Split(ansi.Strip(h.View().Content), "\n")
			if len(lines) > s.h {
				t.Errorf("%v, %d nodes: %d lines", s, nodes, len(lines))
			}
			last := fmt.Sprintf("n%02d", nodes-1)
			if text := strings.Join(lines, "\n"); !strings.Contains(text, last+" + "+last) || !strings.Contains(text, "\n"+last) {
				t.Errorf("%v: the last cell of %d nodes is not on the screen:\n%s", s, nodes, text)
			}
			for _, line := range lines {
				if ansi.StringWidth(line) > s.w {
					t.Errorf("%v: %q is too wide", s, line)
				}
			}
		}
	}
	h := heatOf(10)
	h.keys(tea.KeyRight, tea.KeyEnter)
	if text := ansi.Strip(h.View().Content); !strings.Contains(text, "n00 + n01") || !strings.Contains(text, "Insufficient memory") {
		t.Errorf("enter explains:\n%s", text)
	}
	h.keys(tea.KeyEscape)
	if text := ansi.Strip(h.View().Content); strings.Contains(text, "Insufficient") || !strings.Contains(text, "#") {
		t.Errorf("esc returns:\n%s", text)
	}
}
