package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// HeatMap shows the loss of every pair of nodes as a table of signs, one row and one
// column for each node. The arrow keys move the cursor; enter explains its cell.
type HeatMap struct {
	Title string
	Names []string // of the nodes
	Cells [][]HeatCell
	ASCII bool

	theme          *theme
	size           size
	row, col       int
	top, left      int // first row and column on the screen
	open           bool
	line, lastLine int // of the explanation: the first on the screen, and the largest possible
}

// HeatCell is the effect of one loss.
type HeatCell struct {
	Heat    int    // 0: none; 1: pods wait for the node; 2 to 4: pods without a node, more of them with each step
	Brief   string // in one line
	Explain []string
}

// heatSigns are the signs of the heats, from none to the largest.
var heatSigns = map[bool][5]string{false: {"·", "░", "▒", "▓", "█"}, true: {".", "-", "+", "*", "#"}}

// Init begins.
func (h *HeatMap) Init() tea.Cmd {
	h.theme, h.size = newTheme(Options{ASCII: h.ASCII}), size{80, 24}
	return nil
}

// Update handles keys and the size of the terminal.
func (h *HeatMap) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		h.size = size{msg.Width, msg.Height}
	case tea.KeyPressMsg:
		return h, h.press(msg.String())
	}
	return h, nil
}

func (h *HeatMap) press(key string) tea.Cmd {
	switch key {
	case "q", "ctrl+c":
		return tea.Quit
	case "esc":
		if !h.open {
			return tea.Quit
		}
		h.open = false
	case "enter":
		h.open, h.line = !h.open, 0
	}
	dy := map[string]int{"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -10, "pgdown": 10}[key]
	dx := map[string]int{"left": -1, "h": -1, "right": 1, "l": 1}[key]
	if h.open {
		h.line = min(max(0, h.line+dy), h.lastLine)
		return nil
	}
	h.row = min(max(0, h.row+dy), len(h.Names)-1)
	h.col = min(max(0, h.col+dx), len(h.Names)-1)
	return nil
}

// View draws the map, or the explanation of one cell.
func (h *HeatMap) View() tea.View {
	draw := h.grid
	if h.open {
		draw = h.explanation
	}
	lines := draw()
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], h.size.w, "")
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	return v
}

func (h *HeatMap) grid() []string {
	label := 4
	for _, n := range h.Names {
		label = min(max(label, width(n)), 20)
	}
	title := h.wrapped(h.Title)
	title = title[:min(len(title), 3)]
	rows := min(max(1, h.size.h-len(title)-6), len(h.Names))
	columns := min(max(1, (h.size.w-label-1)/2), len(h.Names))
	h.top = min(max(h.top, h.row-rows+1), h.row)
	h.left = min(max(h.left, h.col-columns+1), h.col)
	out := append(title, "", strings.Repeat(" ", label+1+2*(h.col-h.left))+"v "+h.Names[h.col])
	for i := h.top; i < h.top+rows; i++ {
		line := newRow(label+1).cell(h.theme, "", clean(h.Names[i]), label).String()
		if i == h.row {
			line = paint(h.theme.strong, line)
		}
		for k := h.left; k < h.left+columns; k++ {
			line += h.cell(i, k)
		}
		out = append(out, line)
	}
	key := ""
	for heat, text := range []string{"none", "wait for their node", "1-2 without a node", "3-9", "10 or more"} {
		look, sign := h.look(heat)
		key += paint(look, sign) + " " + paint(h.theme.dim, text) + "  "
	}
	return append(out, "", h.Cells[h.row][h.col].Brief, key,
		paint(h.theme.dim, fmt.Sprintf("arrows move (row %d, column %d of %d)   enter explains   q quits", h.row+1, h.col+1, len(h.Names))))
}

// cell is two columns wide, so that neighbours of one heat make an area.
func (h *HeatMap) cell(i, k int) string {
	look, sign := h.look(h.Cells[i][k].Heat)
	if i == h.row && k == h.col {
		return paint(look+"\x1b[7m", "[]")
	}
	return paint(look, sign)
}

func (h *HeatMap) look(heat int) (style, string) {
	sign := heatSigns[h.ASCII][heat]
	if heat > 0 {
		sign += sign
	} else {
		sign += " "
	}
	return [5]style{h.theme.dim, h.theme.warn, h.theme.warn, h.theme.bad, h.theme.bad}[heat], sign
}

func (h *HeatMap) explanation() []string {
	var all []string
	for _, line := range h.Cells[h.row][h.col].Explain {
		all = append(all, h.wrapped(line)...)
	}
	room := max(1, h.size.h-4)
	h.lastLine = max(0, len(all)-room)
	h.line = min(h.line, h.lastLine)
	shown := all[h.line:min(len(all), h.line+room)]
	out := append([]string{paint(h.theme.strong, h.Cells[h.row][h.col].Brief), ""}, shown...)
	return append(out, "", paint(h.theme.dim, "up and down scroll   enter or esc returns   q quits"))
}

func (h *HeatMap) wrapped(s string) []string {
	return wrap(clean(s), max(10, h.size.w))
}

func paint(st style, s string) string { return string(st) + s + "\x1b[m" }
