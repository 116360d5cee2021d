package tui

import (
	"fmt"
	"slices"

	"lightsout/cluster"
)

var pictureSpec = &paneSpec{
	name: "Picture", names: []string{"picture", "pulse", "pulses"}, letter: "p", place: placeWhole,
	keys: []binding{
		bind(openObject(aspectDetails), "details", "enter d", "describe the node (enter: unless a trial step is waiting)", "enter", "d"),
		bind(openObject(aspectYAML), "", "y", "the node's YAML, as the API server has it", "y").needs(needLive),
		bind(markNode, "mark", "space", "mark or unmark the node", "space").needs(needLive),
	},
	bar:  []string{"mark", "shut down", "power on", "details", "pull the plug"},
	open: func() pane { return newPicturePane() },
}

// picturePane is the cluster as a picture: nodes as racks of pod tiles, on the
// whole screen. Nodes keep their places, in the order of their names.
type picturePane struct {
	list[string, *cluster.Node]
	homeless []*cluster.Pod // on no node
}

func newPicturePane() *picturePane {
	return &picturePane{list: list[string, *cluster.Node]{
		id: func(n *cluster.Node) string { return n.Name }, object: func(_ *scene, n *cluster.Node) object { return nodeObject(n.Name) },
		kind: cluster.KindNode, none: "no nodes", page: 1,
	}}
}

func (p *picturePane) settle(s *scene) {
	if !p.stale(s.snap) {
		return
	}
	p.homeless = homeless(s)
	nodes := slices.DeleteFunc(slices.Clone(s.snap.Nodes()), func(n *cluster.Node) bool { return !n.Gone.IsZero() })
	p.take(s, nodes)
	p.begin(func(n *cluster.Node) bool { return !n.ControlPlane })
}

func (p *picturePane) want(*scene, int) want { return want{least: 4, most: 1000, share: 1} }

// It has no rows to be filtered, or to be chosen by their lines.
func (p *picturePane) filter() *filter { return nil }

func (p *picturePane) draw(s *scene, w, h int, active bool) drawing {
	d := drawing{title: "Picture of the cluster"}
	if len(p.rows) == 0 {
		d.lines = s.message(s.t.dim, p.empty(s), w, h)
		return d
	}
	ready, _ := s.snap.NodeCount()
	d.facts = s.facts(readyOf(ready, len(p.rows)), some(len(s.marks), "marked"))
	room := h - btoi(h >= 8)
	c := rackGrid(w, room, len(p.rows)+min(len(p.homeless), 1))
	if c == 0 {
		d.lines = s.message(s.t.dim, "the picture has no room for all nodes: 1 goes to their list", w, h)
		return d
	}
	d.lines = fill(p.racks(s, w, room, c, active), w, room)
	if room < h {
		d.lines = append(d.lines, numbers(s, w, roundTop(gaugeTop(s.f.Load.Gauge)), "", [layers]bool{}))
	}
	return d
}

// The smallest rack, frame included.
const (
	leastRackWidth  = 18
	leastRackHeight = 4
)

// rackGrid gives how many racks stand side by side so that n of them have room;
// 0 when they have none.
func rackGrid(w, h, n int) int {
	best, size := 0, 0
	for c := 1; c <= min(n, w/leastRackWidth); c++ {
		rows := (n + c - 1) / c
		if h/rows < leastRackHeight {
			continue
		}
		// A cell is about twice as high as wide, and a rack wider than high.
		if now := min(w*5/c, h/rows*16); now > size {
			best, size = c, now
		}
	}
	return best
}

// racks draws each node as a frame with a tile for each of its pods.
func (p *picturePane) racks(s *scene, w, h, c int, active bool) []string {
	n := len(p.rows) + min(len(p.homeless), 1)
	rows := (n + c - 1) / c
	most := len(p.homeless)
	for _, node := range p.rows {
		most = max(most, len(shownPods(s, node)))
	}
	tile := tileSize(most, w/c-4, h/rows-2-headLines(h/rows))
	var out []string
	for y := range rows {
		high := h/rows + btoi(y < h%rows)
		lines := make([]string, high)
		for x := range c {
			wide := w/c + btoi(x < w%c)
			rack := fill(nil, wide, high)
			switch i := y*c + x; {
			case i < len(p.rows):
				rack = p.rack(s, p.rows[i], wide, high, tile, active && i == p.at)
			case i < n:
				rack = box(s.t, wide, high, "no node", "", s.t.warn, podTiles(s, p.homeless, wide-4, high-2, tile))
			}
			lines = beside(lines, rack)
		}
		out = append(out, lines...)
	}
	return out
}

// headLines is how many lines of a rack of h stand above its tiles.
func headLines(h int) int { return btoi(h >= 5) + btoi(h >= 9) }

// rack is one node.
func (p *picturePane) rack(s *scene, n *cluster.Node, w, h int, tile size, here bool) []string {
	t := s.t
	sign, st := nodeSign(s, n)
	edge, title := t.dim, t.text(n.Name)
	if sign != " " {
		edge, title = st, sign+" "+title
	}
	if here {
		edge = t.accent
	}
	if s.marks[n.Name] {
		title = t.mark + " " + title
	}
	m, known := s.f.Power[n.Name]
	power, _ := powerWord(t, m, known)
	word := s.snap.NodeStatus(n, s.now).Short()
	if known {
		word += " " + t.bullet + " " + power
	}
	head := headLines(h)
	var lines []string
	if head > 0 {
		lines = fill([]string{newRow(w-4).put(s.just(st, n.Changed), fit(word, w-4, t.ellipsis)).String()}, w-4, head)
		word = ""
	}
	return box(t, w, h, title, word, edge, append(lines, podTiles(s, shownPods(s, n), w-4, h-2-head, tile)...))
}

// box frames lines that are w-4 wide.
func box(t *theme, w, h int, title, facts string, edge style, lines []string) []string {
	for i, l := range lines {
		lines[i] = " " + l + " "
	}
	return drawBox(t, w, []section{{drawing: drawing{title, facts, fill(lines, w-2, h-2)}, edge: edge}}, true, span{})
}

// shownPods are the pods of a node that are meant to run.
func shownPods(s *scene, n *cluster.Node) []*cluster.Pod {
	return slices.DeleteFunc(slices.Clone(s.snap.PodsOn(n.Name)), func(p *cluster.Pod) bool {
		meant, _ := counted(p)
		return !meant
	})
}

// tileSize returns the largest size at which n tiles fit in w x h cells; zero if not
// even single cells fit.
func tileSize(n, w, h int) size {
	for _, sz := range []size{{11, 5}, {9, 3}, {7, 3}, {7, 2}, {5, 2}, {5, 1}, {3, 1}, {1, 1}} {
		if side, below := sz.fits(w, h); side*below >= n {
			return sz
		}
	}
	return size{}
}

// fits gives how many tiles stand side by side and below each other, with gaps
// between larger ones.
func (sz size) fits(w, h int) (side, below int) {
	gapX, gapY := btoi(sz.w > 1), btoi(sz.h > 1)
	return (w + gapX) / (sz.w + gapX), (h + gapY) / (sz.h + gapY)
}

// podTiles gives a tile for each pod in w x h cells, side by side, with gaps between larger
// ones.
func podTiles(s *scene, pods []*cluster.Pod, w, h int, tile size) []string {
	if tile.w == 0 {
		return []string{newRow(w).put("", fmt.Sprintf("%d pods", len(pods))).String()}
	}
	side, below := tile.fits(w, h)
	pods = pods[:min(len(pods), side*below)]
	var out []string
	gap := btoi(tile.w > 1)
	for from := 0; from < len(pods); from += side {
		if from > 0 && tile.h > 1 {
			out = append(out, blank(w))
		}
		for y := range tile.h {
			r := newRow(w)
			for i, p := range pods[from:min(from+side, len(pods))] {
				if i > 0 {
					r.space(gap)
				}
				sign, st := podSign(s, p)
				if tile.w == 1 {
					r.put(st, sign)
					continue
				}
				if y != tile.h/2 {
					sign = " "
				}
				look := s.t.tile(st)
				r.put(look, blank((tile.w-1)/2)+sign+blank(tile.w-1-(tile.w-1)/2))
			}
			out = append(out, r.String())
		}
	}
	return out
}
