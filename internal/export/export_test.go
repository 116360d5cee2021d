package export

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"image"
	"image/draw"
	"image/gif"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"go.uber.org/goleak"

	"lightsout/internal/text"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene is a cast with everything that is drawn in its own way: colours, wide
// letters, boxes, blocks, braille, a marker and a resize.
func scene(t testing.TB) *Cast {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"version":2,"width":30,"height":6,"title":"x"}` + "\n")
	event := func(at float64, code, data string) {
		line, _ := json.Marshal([]any{at, code, data})
		b.Write(append(line, 10))
	}
	event(0, "o", "╭─ Nodes ─╮ <a&b>\r\n│ 日本 ● ⣿█▒│\r\n╰━┄┿┓┗▚╌═╯")
	event(1, "o", "\x1b[2;3H\x1b[31;1mdown\x1b[0m \x1b[7mbusy\x1b[0m")
	event(1.5, "m", "the plug is pulled")
	event(60, "o", "\x1b[4;1H\x1b[38;5;208mlate\x1b[0m \x1b[48;2;1;2;3m \x1b[0m \x1b[4;2mfaint\x1b[0m")
	event(61, "o", "\x1b[2;3H    ")
	c, err := Read(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func film(t testing.TB, o Options) []Frame {
	t.Helper()
	frames, err := Film(t.Context(), scene(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return frames
}

func (s *Screen) text() string {
	var b strings.Builder
	for y := range s.Height {
		var row strings.Builder
		for _, c := range s.rows[y] {
			row.WriteString(c.Text)
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func TestTheFilmIsWhatTheTerminalShowed(t *testing.T) {
	frames := film(t, Options{Idle: 2 * time.Second, Captions: true})
	if len(frames) != 5 {
		t.Fatalf("%d pictures", len(frames))
	}
	if got := frames[1].Screen.text(); !strings.HasPrefix(got, "╭─ Nodes ─╮ <a&b>\n│ down busy") {
		t.Errorf("the second shows\n%s", got)
	}
	if frames[0].Caption != "" || frames[2].Caption != "the plug is pulled" {
		t.Errorf("captions %q and %q", frames[0].Caption, frames[2].Caption)
	}
	if at := frames[3].At; at != 3500*time.Millisecond {
		t.Errorf("after an idle minute cut to 2 s the next picture comes at %s", at)
	}
	if until := frames[4].Until; until != 7500*time.Millisecond {
		t.Errorf("the film ends at %s", until)
	}
	for i := 1; i < len(frames); i++ {
		if frames[i].At != frames[i-1].Until {
			t.Errorf("picture %d begins at %s, the one before ends at %s", i, frames[i].At, frames[i-1].Until)
		}
	}
	fast := film(t, Options{Speed: 2, From: time.Second, To: 2 * time.Second, Captions: true})
	if len(fast) != 2 || fast[1].At != 250*time.Millisecond {
		t.Errorf("a second at twice the speed: %d pictures, the second at %s", len(fast), fast[len(fast)-1].At)
	}
}

// A screen whose caption stands in a row of its own, as in a recorded demo, has no other marker below it.
func TestAMarkerIsNotShownBesideACaptionOfTheScreen(t *testing.T) {
	c := &Cast{Width: 60, Height: 2}
	var want []string
	for i, e := range []struct{ marker, row, below string }{
		{"before the story", "", "before the story"},
		{"Now 12 requests at once for 8 pods: watch", " ► Now 12 requests at once for 8 pods: watch", ""},
		{"pods evicted", " ► Now 12 requests at once for 8 pods: watch", ""},
		{"8 of 12 served at once", " ► Now 12 requests at once for 8 pods: watch", ""}, // the screen comes later than the marker
		{"8 of 12 served at once", " ► 8 of 12 served at once", ""},
		{"verdict: pass", "", "verdict: pass"}, // the operator has taken over
	} {
		at := time.Duration(i) * time.Second
		c.Events = append(c.Events, Event{at, "m", e.marker}, Event{at, "o", "\x1b[2J\x1b[H" + strconv.Itoa(i) + "\r\n" + e.row})
		want = append(want, e.below)
	}
	frames, err := Film(t.Context(), c, Options{Captions: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := text.Each(frames, func(f Frame) string { return f.Caption }); !slices.Equal(got, want) {
		t.Errorf("below the screen stands %q, want %q", got, want)
	}
}

// Colours of text have the contrast that WCAG 2.2 demands (1.4.3); black is a background on dark screens.
func TestTextCanBeReadInEachTheme(t *testing.T) {
	luminance := func(c Colour) (sum float64) {
		for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
			v := float64(c>>(8*i)&0xff) / 255
			sum += weight * map[bool]float64{true: v / 12.92, false: math.Pow((v+0.055)/1.055, 2.4)}[v <= 0.04045]
		}
		return sum
	}
	for _, th := range themes {
		faint := th.cell(&uv.Cell{Style: uv.Style{Attrs: uv.AttrFaint}}).Fg
		for i, c := range append([]Colour{faint, th.fg}, th.ansi[1:]...) {
			least := map[bool]float64{true: 5.5, false: 4.5}[i == 0]
			x, y := luminance(c), luminance(th.bg)
			if got := (max(x, y) + 0.05) / (min(x, y) + 0.05); got < least {
				t.Errorf("%s: %s on %s has a contrast of %.1f, want %.1f", th.name, c.hex(), th.bg.hex(), got, least)
			}
		}
	}
}

// Encoders of videos refuse odd sizes.
func TestPicturesHaveEvenSizes(t *testing.T) {
	for _, size := range []int{15, 16} {
		c := &Cast{Width: 29, Height: 6, Events: []Event{{Code: "o", Data: "x"}}}
		frames, err := Film(t.Context(), c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := PNG(&out, frames, 0, Options{Size: size}); err != nil {
			t.Fatal(err)
		}
		if head, err := png.DecodeConfig(&out); err != nil || head.Width%2+head.Height%2 > 0 {
			t.Errorf("with letters of %d pixels, a picture has %d by %d pixels: %v", size, head.Width, head.Height, err)
		}
	}
}

// flatten plays a GIF up to its picture n.
func flatten(g *gif.GIF, n int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, g.Config.Width, g.Config.Height))
	for _, p := range g.Image[:n+1] {
		draw.Draw(img, p.Rect, p, p.Rect.Min, draw.Over)
	}
	return img
}

func TestEachPictureOfAGIFIsThatOfItsMoment(t *testing.T) {
	for _, theme := range Themes() {
		o := Options{Theme: theme, Title: "a title", Captions: true, Idle: time.Second}
		frames := film(t, o)
		var out bytes.Buffer
		if err := GIF(&out, frames, o); err != nil {
			t.Fatal(err)
		}
		g, err := gif.DecodeAll(&out)
		if err != nil {
			t.Fatal(err)
		}
		if len(g.Image) != len(frames) || g.LoopCount != 0 {
			t.Fatalf("%d pictures of %d, loops %d", len(g.Image), len(frames), g.LoopCount)
		}
		played := time.Duration(0)
		for i, f := range frames {
			var still bytes.Buffer
			if err := PNG(&still, frames, f.At, o); err != nil {
				t.Fatal(err)
			}
			want, err := png.Decode(&still)
			if err != nil {
				t.Fatal(err)
			}
			got := flatten(g, i)
			if got.Bounds() != want.Bounds() {
				t.Fatalf("%v, want %v", got.Bounds(), want.Bounds())
			}
			different := 0
			for y := range got.Bounds().Dy() {
				for x := range got.Bounds().Dx() {
					r, gr, b, _ := got.At(x, y).RGBA()
					r2, g2, b2, _ := want.At(x, y).RGBA()
					if r != r2 || gr != g2 || b != b2 {
						different++
					}
				}
			}
			if different > 0 {
				t.Errorf("%s: picture %d differs from its still in %d pixels", theme, i, different)
			}
			played += time.Duration(g.Delay[i]) * 10 * time.Millisecond
		}
		if end := frames[len(frames)-1].Until; played != end {
			t.Errorf("the GIF plays for %s, the film for %s", played, end)
		}
	}
}

// svgText is the text that an SVG shows at a moment, by row and column.
func svgText(t *testing.T, data []byte, at, total float64, top, w, h int) string {
	t.Helper()
	grid := make([][]string, h)
	for y := range grid {
		grid[y] = make([]string, w)
	}
	visible := map[string]bool{}
	rule := regexp.MustCompile(`\.(k\w+)\{animation-name:\w+\}@keyframes \w+\{(.*)\}`)
	step := regexp.MustCompile(`([0-9.]+)%\{visibility:(\w+)\}`)
	for _, m := range rule.FindAllSubmatch(data, -1) {
		for _, s := range step.FindAllSubmatch(m[2], -1) {
			p, _ := strconv.ParseFloat(string(s[1]), 64)
			if p/100*total <= at {
				visible[string(m[1])] = string(s[2]) == "visible"
			}
		}
	}
	dec := xml.NewDecoder(bytes.NewReader(data))
	shown, inText := true, false
	var x, y int
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			attr := map[string]string{}
			for _, a := range tok.Attr {
				attr[a.Name.Local] = a.Value
			}
			switch tok.Name.Local {
			case "g":
				shown = visible[strings.Fields(attr["class"])[1]]
			case "text":
				inText = true
				x, _ = strconv.Atoi(attr["x"])
				y, _ = strconv.Atoi(attr["y"])
			}
		case xml.EndElement:
			switch tok.Name.Local {
			case "g":
				shown = true
			case "text":
				inText = false
			}
		case xml.CharData:
			if !inText || !shown {
				continue
			}
			col, row := x/svgW-1, (y-top-svgH+4)/svgH
			for _, r := range string(tok) {
				grid[row][col] = string(r)
				col += text.Width(string(r))
			}
		}
	}
	var b strings.Builder
	for _, row := range grid {
		for _, cell := range row {
			if cell == "" {
				cell = " "
			}
			b.WriteString(cell)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestAnSVGShowsAtEachMomentWhatTheTerminalShowed(t *testing.T) {
	o := Options{Idle: time.Second}
	frames := film(t, o)
	var out bytes.Buffer
	if err := SVG(&out, frames, o); err != nil {
		t.Fatal(err)
	}
	total := frames[len(frames)-1].Until.Seconds()
	for i, f := range frames {
		s := f.Screen
		var want strings.Builder
		for y := range s.Height {
			for x, c := range s.rows[y] {
				if c.Text == "" && x > 0 || isShape(c) {
					c.Text = " "
				}
				want.WriteString(c.Text)
			}
			want.WriteString("\n")
		}
		got := svgText(t, out.Bytes(), (f.At+f.Until).Seconds()/2, total, svgH/2, s.Width, s.Height)
		if got != want.String() {
			t.Errorf("picture %d:\n%s\nwant\n%s", i, got, want.String())
		}
	}
	if bytes.Contains(out.Bytes(), []byte("<script")) || bytes.Contains(out.Bytes(), []byte("http://x")) {
		t.Error("the SVG holds more than a picture")
	}
}

func TestExportReportsAFileThatItCannotDraw(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"empty":      {"", "empty"},
		"no cast":    {"hello\n", "asciicast"},
		"version 1":  {`{"version":1,"width":80,"height":24}` + "\n", "asciinema convert"},
		"no size":    {`{"version":2}` + "\n", "0 by 0"},
		"huge":       {`{"version":2,"width":100000,"height":100000}` + "\n", "can't be drawn"},
		"odd event":  {`{"version":2,"width":80,"height":24}` + "\n[1, 2]\n", "line 2"},
		"back then":  {`{"version":2,"width":80,"height":24}` + "\n[-1, \"o\", \"\"]\n", "line 2"},
		"years long": {`{"version":2,"width":80,"height":24}` + "\n[1e12, \"o\", \"\"]\n", "line 2"},
	} {
		if _, err := Read(strings.NewReader(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if _, err := Film(t.Context(), scene(t), Options{From: time.Hour}); err == nil {
		t.Error("a part after the end was shown")
	}
	if err := PNG(io.Discard, film(t, Options{}), 0, Options{Size: 500}); err == nil {
		t.Error("letters of 500 pixels were drawn")
	}
}

func TestEitherVersionAndATornEndAreRead(t *testing.T) {
	for _, text := range []string{
		`{"version":2,"width":10,"height":2}` + "\n# a comment\n" + `[1, "o", "a"]` + "\n" + `[3, "o", "b"]` + "\n" + `[4, "o", "c`,
		`{"version":3,"term":{"cols":10,"rows":2}}` + "\n# a comment\n" + `[1, "o", "a"]` + "\n" + `[2, "o", "b"]` + "\n" + `[1, "o", "c`,
	} {
		c, err := Read(strings.NewReader(text))
		if err != nil || len(c.Events) != 2 || c.Events[1].At != 3*time.Second || c.Width != 10 {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"version":2,"width":20,"height":4}` + "\n" + `[0.5, "o", "\u001b[31mhi\r\n"]` + "\n" + `[1, "r", "30x5"]` + "\n" + `[2, "m", "x"]`))
	f.Add([]byte(`{"version":3,"term":{"cols":9,"rows":3}}` + "\n" + `[0, "o", "日本\u001b[2J"]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Read(bytes.NewReader(data))
		if err != nil || c.Width*c.Height > 2000 || len(c.Events) > 20 {
			return
		}
		frames, err := Film(t.Context(), c, Options{Captions: true, Idle: time.Second})
		if err != nil {
			return
		}
		for _, fr := range frames {
			if fr.Screen.Width*fr.Screen.Height > 4000 {
				return
			}
		}
		if err := errorsOf(frames); err != nil {
			t.Fatal(err)
		}
	})
}

func errorsOf(frames []Frame) error {
	if err := GIF(io.Discard, frames, Options{Captions: true, Size: 8}); err != nil {
		return err
	}
	return SVG(io.Discard, frames, Options{Captions: true})
}

// An emulator does as often as it is told to what a sequence says.
func TestWhatIsRepeatedAMilliardTimesIsLeftOut(t *testing.T) {
	for _, final := range "@ABCDEFGHIJKLMPSTXZ`abdefg" {
		out := "x\\u001b[1;999999999r\\u001b[?69h\\u001b[1;999999999s\\u001b[999999999" + string(final) + "\\u001b[5by"
		c, err := Read(strings.NewReader(`{"version":2,"width":20,"height":4}` + "\n" + `[0, "o", "` + out + `"]`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Film(t.Context(), c, Options{}); err != nil {
			t.Errorf("%q: %v", final, err)
		}
	}
}
