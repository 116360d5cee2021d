package export

import (
	"encoding/json"
	"fmt"
	"image/color"
	"slices"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"lightsout/internal/text"
)

// Colour is 0xRRGGBB.
type Colour uint32

// theme gives the terminal's 16 colours, and those of text without one.
type theme struct {
	name   string
	fg, bg Colour
	ansi   [16]Colour
}

var themes = []theme{
	{"dark", 0xd6dae0, 0x14181f, [16]Colour{
		0x2b313b, 0xf2777a, 0x8fce7e, 0xf0c36d, 0x6fa8f0, 0xc99bf0, 0x5fc9c9, 0xd6dae0,
		0x78828f, 0xff9093, 0xa9e598, 0xffd98a, 0x8fc1ff, 0xdcb8ff, 0x82e3e3, 0xffffff}},
	{"light", 0x24292f, 0xffffff, [16]Colour{
		0x24292f, 0xc0262d, 0x1a7f37, 0x8a5a00, 0x0a58ca, 0x7d3cc0, 0x0b7a83, 0x6e7781,
		0x57606a, 0xd1242f, 0x238636, 0x9a6700, 0x1f6feb, 0x8f4fd6, 0x147f89, 0x24292f}},
	{"contrast", 0xffffff, 0x000000, [16]Colour{
		0x000000, 0xff5c5c, 0x5cff5c, 0xffff00, 0x66b3ff, 0xff8cff, 0x00ffff, 0xffffff,
		0xc0c0c0, 0xff8080, 0x90ff90, 0xffff80, 0xa0d0ff, 0xffb0ff, 0x90ffff, 0xffffff}},
}

// Themes are the names of the themes, the default first.
func Themes() []string { return text.Each(themes, func(t theme) string { return t.name }) }

// themeOf is the theme of that name, or with that background in a cast; nil if there is none.
func themeOf(name string) *theme {
	if i := slices.IndexFunc(themes, func(t theme) bool { return t.name == name || t.background() == name }); i >= 0 {
		return &themes[i]
	}
	return nil
}

// CastTheme is the theme of that name as the header of an asciicast has it; nil if there is none.
func CastTheme(name string) json.RawMessage {
	t := themeOf(name)
	if t == nil {
		return nil
	}
	palette := strings.NewReplacer("[", "#", " ", ":#", "]", "").Replace(fmt.Sprintf("%06x", t.ansi))
	return fmt.Appendf(nil, `{"fg":"#%06x","bg":"%s","palette":"%s"}`, uint32(t.fg), t.background(), palette)
}

func (t *theme) background() string { return fmt.Sprintf("#%06x", uint32(t.bg)) }

// colour gives c as the theme has it, or unless when there is none.
func (t *theme) colour(c color.Color, unless Colour) Colour {
	switch c := c.(type) {
	case nil:
		return unless
	case ansi.BasicColor:
		return t.ansi[c&15]
	case ansi.IndexedColor:
		if c < 16 {
			return t.ansi[c]
		}
	}
	r, g, b, _ := c.RGBA()
	return Colour(r>>8<<16 | g>>8<<8 | b>>8)
}

// cell gives a terminal's cell its colours.
func (t *theme) cell(c *uv.Cell) Cell {
	s := c.Style
	out := Cell{Text: c.Content, Fg: t.colour(s.Fg, t.fg), Bg: t.colour(s.Bg, t.bg), Bold: s.Attrs&uv.AttrBold != 0, Underline: s.Underline != 0}
	if s.Attrs&uv.AttrReverse != 0 {
		out.Fg, out.Bg = out.Bg, out.Fg
	}
	if s.Attrs&uv.AttrFaint != 0 {
		out.Fg = mix(out.Fg, out.Bg, 3, 4)
	}
	if s.Attrs&uv.AttrConceal != 0 {
		out.Text = " "
	}
	return out
}

// mix is part/of of a and the rest of b.
func mix(a, b Colour, part, of int) (out Colour) {
	for shift := 0; shift < 24; shift += 8 {
		x, y := int(a>>shift&0xff), int(b>>shift&0xff)
		out |= Colour((x*part+y*(of-part)+of/2)/of) << shift
	}
	return out
}

func (c Colour) rgba() color.RGBA {
	return color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 0xff}
}

// hex is the colour as CSS has it.
func (c Colour) hex() string {
	s := fmt.Sprintf("#%06x", uint32(c))
	if s[1] == s[2] && s[3] == s[4] && s[5] == s[6] {
		return string([]byte{'#', s[1], s[3], s[5]})
	}
	return s
}
