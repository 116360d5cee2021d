package tui

import (
	"slices"
	"strings"
	"time"

	"lightsout/internal/text"
	"lightsout/internal/view"
)

// questionDialog shows a view.Question and gives the view.Answer. It ignores the
// keys that were typed before it could be seen.
type questionDialog struct {
	q      *view.Question
	chosen int // index of the choice; the first is the safe one, which esc takes
	in     input
	body   pager // the question's lines
	// unread is how many machines were not yet shown in full, next the first row of these; read
	// holds the rows that were shown.
	unread, next int
	read         map[string]bool
	now          func() time.Time
	grace
}

// renew takes the same question with other lines or choices.
func (d *questionDialog) renew(q *view.Question) {
	changed := !slices.Equal(subjects(d.q), subjects(q))
	d.q = q
	if changed {
		d.unread, d.next = 1, d.body.top // until it is drawn
	}
	if changed || d.chosen >= len(d.choices()) || !d.open() {
		d.begin()
	}
}

// begin chooses what the question begins with, or the safe choice while no other may be taken.
func (d *questionDialog) begin() {
	d.chosen = 0
	if d.open() {
		d.chosen = max(0, slices.IndexFunc(d.choices(), func(c view.Choice) bool { return c.ID == d.q.Default }))
	}
}

// subjects are the lines that name machines.
func subjects(q *view.Question) []view.Line {
	return slices.DeleteFunc(slices.Clone(q.Lines), func(l view.Line) bool { return !l.Subject })
}

func (d *questionDialog) title() string {
	return d.q.Title
}

// lines are the question's lines; of a refusal the reasons come first.
func (d *questionDialog) lines() []view.Line {
	lines := view.Few(d.q.Lines)
	if !d.q.Refused {
		return lines
	}
	other := func(l view.Line) int { return btoi(l.Level != view.Bad) }
	slices.SortStableFunc(lines, func(a, b view.Line) int { return other(a) - other(b) })
	if i := slices.IndexFunc(lines, func(l view.Line) bool { return other(l) > 0 }); i > 0 {
		lines = slices.Insert(lines, i, view.Line{})
	}
	return lines
}

func (d *questionDialog) foot() string {
	keys := "←/→ choose · enter answer · esc " + strings.ToLower(d.choices()[0].Label)
	if !d.arrows() {
		keys = strings.Replace(keys, "←/→", "tab", 1)
	}
	switch {
	case d.q.Refused:
		keys = "enter close"
	case d.unread > 0 && d.chosen > 0:
		keys = "enter reads on: " + text.Count(d.unread, "machine is", "machines are") + " not shown yet · esc " + strings.ToLower(d.choices()[0].Label)
	case len(d.body.lines) > d.body.room:
		keys += " · ↑/↓ more"
	}
	if d.toCopy() != "" {
		keys += " · Y copy the command"
	}
	if d.absorbed() {
		keys = "that key came too early: press it again · " + keys
	}
	return keys
}

// toCopy is the first command that the question names.
func (d *questionDialog) toCopy() string {
	i := slices.IndexFunc(d.q.Lines, func(l view.Line) bool { return l.Command != "" })
	if i < 0 || d.typing() {
		return ""
	}
	return d.q.Lines[i].Command
}

// choices gives at least one.
func (d *questionDialog) choices() []view.Choice {
	switch {
	case len(d.q.Choices) == 0:
		return []view.Choice{{ID: "close", Label: "Close"}}
	case d.q.Refused:
		return d.q.Choices[:1]
	}
	return d.q.Choices
}

// typing reports whether the question wants a text.
func (d *questionDialog) typing() bool {
	return !d.q.Refused && (d.q.Type != "" || d.q.Secret)
}

func (d *questionDialog) reading() bool { return !d.typing() }

func (d *questionDialog) position(t *theme) string { return d.body.position(t) }

// open reports whether a choice other than the safe one may be taken.
func (d *questionDialog) open() bool {
	if d.q.Type != "" {
		return d.in.String() == d.q.Type
	}
	return !d.q.Secret || d.in.String() != ""
}

// arrows reports whether the arrows choose: while a text is to be typed they move in it.
func (d *questionDialog) arrows() bool { return !d.typing() || d.q.Type != "" && d.open() }

func (d *questionDialog) press(p pressed) (view.Intent, bool) {
	if d.absorbs(d.now()) {
		return nil, false
	}
	last := len(d.choices()) - 1
	switch p.name {
	case "esc":
		return d.answer(0), true
	case "enter":
		if d.unread == 0 || d.chosen == 0 {
			return d.answer(d.chosen), true
		}
		d.body.top = min(d.next, d.body.top+d.body.room)
	case "tab":
		d.chosen = (d.chosen + 1) % (last + 1)
	case "shift+tab":
		d.chosen = (d.chosen + last) % (last + 1)
	case "up", "pgup", "down", "pgdown":
		d.body.move(p.name)
	default:
		switch {
		case p.name == "space" && !d.typing():
			d.body.move(p.name)
		case p.name == "left" && d.arrows():
			d.chosen = max(0, d.chosen-1)
		case p.name == "right" && d.arrows(): // no letter: it may be meant for something else
			d.chosen = min(last, d.chosen+1)
		case d.typing() && d.in.press(p):
			d.chosen = btoi(d.open() && last > 0) // with the complete text the choice is to continue
		}
	}
	if !d.open() {
		d.chosen = 0
	}
	return nil, false
}

func (d *questionDialog) answer(choice int) view.Intent {
	a := view.Answer{Question: d.q.ID, Choice: d.choices()[choice].ID}
	if choice > 0 && d.typing() {
		a.Typed = d.in.String()
	}
	return a
}

func (d *questionDialog) draw(s *scene, w, h int) ([]string, int) {
	d.shown(d.now())
	t := s.t
	body := d.wrapped(t, w, false)
	if roomy := d.wrapped(t, w, true); len(roomy) <= h-6 {
		body = roomy
	}
	wide := 40
	for _, l := range body {
		wide = max(wide, width(l.s))
	}
	rows := d.buttonRows(t, w, h)
	for _, row := range rows {
		wide = min(max(wide, spansWidth(row)), w)
	}
	tail, wide := d.typedLine(t, w, wide)
	lines := text.Each(body, func(l questionRow) string { return newRow(wide).put(l.st, l.s).String() })
	space := []string{blank(wide)}
	if h-len(rows) < tightHeight-1 { // the lines need the room
		space = nil
	}
	if len(tail) > 0 {
		tail = slices.Concat(space, tail)
	}
	tail = slices.Concat(tail, space)
	all := slices.Concat(space, d.body.draw(s, lines, wide, h-len(tail)-len(space)-len(rows)), tail)
	all = append(all, text.Each(rows, func(row []span) string {
		return newRow(wide).space((wide-spansWidth(row))/2).spans(t, row, wide, fit).String()
	})...)
	d.look(body)
	return all, wide
}

// tightHeight is the height of a question with one row of buttons from which on it has empty
// lines.
const tightHeight = 8

// look keeps which rows that name machines are in sight.
func (d *questionDialog) look(body []questionRow) {
	if d.read == nil {
		d.read = map[string]bool{}
	}
	d.unread, d.next = 0, len(body)
	last := 0
	for i, l := range body {
		if i >= d.body.top && i < d.body.top+d.body.room {
			d.read[l.s] = true
		}
		if l.subject > last && !d.read[l.s] {
			d.unread, d.next, last = d.unread+1, min(d.next, i), l.subject
		}
	}
}

// typedLine is where the text is typed, if the question wants one, and the width that it
// needs.
func (d *questionDialog) typedLine(t *theme, w, wide int) ([]string, int) {
	if !d.typing() {
		return nil, wide
	}
	prompt := "type it: "
	if d.q.Type != "" {
		prompt = "type " + t.text(d.q.Type) + " to go on: "
	}
	prompt = fit(prompt, w-12, t.ellipsis)
	wide = min(w, max(wide, width(prompt)+24))
	return []string{d.in.line(t, prompt, wide)}, wide
}

// buttonGap is the space between two buttons.
const buttonGap = 2

// buttonRows divides the buttons into rows, w wide; of more than h has room for, the ones
// around the chosen button.
func (d *questionDialog) buttonRows(t *theme, w, h int) [][]span {
	var rows [][]span
	at := 0 // the row of the chosen one
	gap := span{"", blank(buttonGap)}
	for i, b := range d.buttons(t) {
		last := len(rows) - 1
		if last < 0 || spansWidth(rows[last])+buttonGap+width(b.s) > w {
			rows = append(rows, []span{b})
		} else {
			rows[last] = append(rows[last], gap, b)
		}
		if i == d.chosen {
			at = len(rows) - 1
		}
	}
	most := max(1, (h-btoi(d.typing()))/2) // the question has room, too
	from := max(0, min(at-most/2, len(rows)-most))
	return rows[from:min(len(rows), from+most)]
}

// questionRow is a row of a question; subject is the number of the line that names machines, from 1,
// and 0 of other rows.
type questionRow struct {
	span
	subject int
}

// wrapped are the question's lines, wrapped; roomy puts an empty line before each
// heading.
func (d *questionDialog) wrapped(t *theme, w int, roomy bool) []questionRow {
	var body []questionRow
	subject := 0
	add := func(st style, text string, indent int) {
		for i, l := range wrap(text, w-indent-2) {
			if i > 0 {
				l = blank(2) + l
			}
			body = append(body, questionRow{span{st, blank(indent) + l}, subject})
		}
	}
	for i, l := range d.lines() {
		sign, st := levelStyle(t, l.Level)
		text := t.text(l.Text)
		subject = (i + 1) * btoi(l.Subject)
		switch {
		case strings.TrimSpace(text) == "":
			body = append(body, questionRow{})
		case l.Heading:
			if roomy && len(body) > 0 && body[len(body)-1].s != "" {
				body = append(body, questionRow{})
			}
			if st == "" {
				st = t.strong
			}
			add(st, text, 0)
		case l.Level == view.Info:
			add("", text, 2)
		default:
			add(st, sign+" "+text, 0)
		}
	}
	return body
}

// buttons are the choices; the chosen one is reversed and in brackets.
func (d *questionDialog) buttons(t *theme) []span {
	var out []span
	for i, c := range d.choices() {
		label, st := "  "+t.text(c.Label)+"  ", style("")
		switch {
		case i == d.chosen:
			label, st = "[ "+t.text(c.Label)+" ]", t.active
		case i > 0 && !d.open():
			st = t.dim
		}
		out = append(out, span{st, label})
	}
	return out
}
