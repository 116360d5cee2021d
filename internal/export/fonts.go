package export

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/norm"

	"lightsout/internal/text"
)

// Limits of looking for fonts: of the fonts asked for, and of the time
// that fontconfig may take.
const (
	fontsMost = 16
	fontWait  = 10 * time.Second
)

// builtin are the fonts that the program contains, regular and bold.
var builtin = [2]*sfnt.Font{parsed(gomono.TTF), parsed(gomonobold.TTF)}

func parsed(ttf []byte) *sfnt.Font {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic(err) // of the program's own file
	}
	return f
}

// FindFonts looks for fonts with the letters of the frames that the built-in one lacks:
// in o.Font, then among those that fontconfig knows. GIF and PNG with these options use
// them. It returns the letters that no font has; they are drawn as boxes. It fails if
// o.Font can't be read.
func (o *Options) FindFonts(ctx context.Context, frames []Frame) (missing []rune, err error) {
	if o.Font != "" {
		o.fonts, err = readFonts(o.Font)
		if err != nil {
			return nil, fmt.Errorf("--font: %w", err)
		}
	}
	missing = o.lacking(letters(frames, o))
	ctx, cancel := context.WithTimeout(ctx, fontWait)
	defer cancel()
	for range fontsMost {
		file, index := matching(ctx, missing)
		fonts, err := readFonts(file)
		if err != nil || index >= len(fonts) {
			break
		}
		o.fonts = append(o.fonts, fonts[index])
		left := o.lacking(missing)
		if len(left) == len(missing) {
			break
		}
		missing = left
	}
	return missing, nil
}

// letters are the characters of the frames' texts that a font must have, each once.
func letters(frames []Frame, o *Options) []rune {
	seen := map[rune]bool{}
	add := func(s string) {
		for _, r := range norm.NFC.String(text.Clean(s, captionMost)) {
			if r > '~' && drawn[r] == nil {
				seen[r] = true
			}
		}
	}
	add(o.Title)
	for i, f := range frames {
		add(f.Caption)
		for y, row := range f.Screen.rows {
			if i > 0 && len(row) > 0 && &row[0] == &frames[i-1].Screen.rows[y][0] {
				continue // the same as before
			}
			for _, c := range row {
				add(c.Text)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// lacking are those of the letters that no font has.
func (o *Options) lacking(all []rune) []rune {
	return slices.DeleteFunc(slices.Clone(all), func(r rune) bool { return fontOf(r, builtin[0], o.fonts) != nil })
}

// fontOf is the first font that has a letter; nil if there is none.
func fontOf(r rune, first *sfnt.Font, more []*sfnt.Font) *sfnt.Font {
	for _, f := range append([]*sfnt.Font{first}, more...) {
		var b sfnt.Buffer
		i, err := f.GlyphIndex(&b, r)
		if err != nil || i == 0 {
			continue
		}
		if _, err := f.LoadGlyph(&b, i, fixed.I(16), nil); err == nil { // a bitmap has no outline
			return f
		}
	}
	return nil
}

// readFonts reads the fonts of a file: one, or those of a collection.
func readFonts(path string) (fonts []*sfnt.Font, err error) {
	b, err := text.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, err := opentype.ParseCollection(b)
	for i := 0; err == nil && i < all.NumFonts(); i++ {
		var f *sfnt.Font
		f, err = all.Font(i)
		fonts = append(fonts, f)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a TrueType or OpenType font: %w", path, err)
	}
	return fonts, nil
}

// matching asks fontconfig for the font that has most of the letters; empty if it can't
// be asked, or if there are no letters. Han letters look as in Japan, unless the locale is another one that has them.
func matching(ctx context.Context, letters []rune) (file string, index int) {
	if len(letters) == 0 {
		return "", 0
	}
	codes := text.Each(letters[:min(len(letters), 500)], func(r rune) string { return strconv.FormatInt(int64(r), 16) })
	pattern := "monospace:color=false:scalable=true:charset=" + strings.Join(codes, " ")
	locale := os.Getenv("LC_ALL") + os.Getenv("LC_CTYPE") + os.Getenv("LANG")
	if !strings.HasPrefix(locale, "zh") && !strings.HasPrefix(locale, "ko") {
		pattern += ":lang=ja"
	}
	out, err := exec.CommandContext(ctx, "fc-match", "-f", "%{index}\n%{file}", pattern).Output()
	number, file, ok := strings.Cut(string(out), "\n")
	if err != nil || !ok {
		return "", 0
	}
	n, _ := strconv.Atoi(number)
	return file, n & 0xffff // above it, which form of a variable font
}

// faceOf gives the face for a letter; the built-in one, which draws a box, if no font has
// the letter. One that is wider than w pixels is drawn smaller.
func (r *raster) faceOf(letter rune, bold bool, w int) font.Face {
	first := builtin[0]
	if bold {
		first = builtin[1]
	}
	f := cmp.Or(fontOf(letter, first, r.more), first)
	if r.faces[f] == nil {
		r.faces[f] = newFace(f, r.size)
	}
	if advance, _ := r.faces[f].GlyphAdvance(letter); advance > fixed.I(w) {
		return newFace(f, r.size*float64(fixed.I(w))/float64(advance))
	}
	return r.faces[f]
}

func newFace(f *sfnt.Font, size float64) font.Face {
	face, _ := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull}) // has no errors
	return face
}
