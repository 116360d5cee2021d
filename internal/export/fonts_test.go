package export

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/image/font/gofont/goregular"

	"lightsout/internal/testenv"
)

// japanese is what readers in Japan have on their screens: names of nodes, half-width
// kana, marks of their own, letters beyond 16 bits, and a prompt.
const japanese = "│計算ノード二号機│ﾎﾟｯﾄﾞ│か\u3099くしゅう│𠮷野家│\r\n│プロンプト: 日本語で答えて│e\u0301│"

// still is one picture of a text, in cells and pixels.
func still(t *testing.T, o Options, screen string) (frames []Frame, picture []byte, missing string) {
	t.Helper()
	c := &Cast{Width: 60, Height: 3, Events: []Event{{Code: "o", Data: screen}}}
	frames, err := Film(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	lost, err := o.FindFonts(t.Context(), frames)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := PNG(&out, frames, time.Hour, o); err != nil {
		t.Fatal(err)
	}
	return frames, out.Bytes(), string(lost)
}

func TestJapaneseIsDrawnByAnInstalledFont(t *testing.T) {
	if file, _ := matching(context.Background(), []rune("日本語")); file == "" {
		testenv.Skip(t, "fontconfig is not installed")
	}
	o := Options{Title: "二台の電源を切る"}
	frames, picture, missing := still(t, o, japanese)
	if strings.ContainsAny(missing, "日本語") {
		testenv.Skip(t, "no font with Japanese letters is installed, such as fonts-vlgothic")
	}
	if missing != "" {
		t.Errorf("%q are missing", missing)
	}
	if screen := frames[0].Screen.text(); !strings.Contains(screen, "│がくしゅう│") && !strings.Contains(screen, "か\u3099") || !strings.Contains(screen, "│\u00e9│") {
		t.Errorf("marks are lost:\n%s", screen)
	}
	t.Setenv("PATH", "")
	if _, boxes, missing := still(t, o, japanese); bytes.Equal(boxes, picture) || !strings.Contains(missing, "日") || !strings.Contains(missing, "切") {
		t.Errorf("without fontconfig the picture is the same, or %q does not name the letters", missing)
	}
	// Two letters are two pictures: none is a box.
	_, a, _ := still(t, o, "日")
	_, b, _ := still(t, o, "本")
	if !bytes.Equal(a, b) {
		t.Error("boxes differ")
	}
}

func TestAFontOfItsOwnIsUsedAndOneThatIsNotIsNamed(t *testing.T) {
	t.Setenv("PATH", "")
	dir := t.TempDir()
	font, other := filepath.Join(dir, "a.ttf"), filepath.Join(dir, "b.ttf")
	if err := os.WriteFile(font, goregular.TTF, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte("no font"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Font: font}
	if _, err := o.FindFonts(t.Context(), nil); err != nil || len(o.fonts) != 1 {
		t.Errorf("%d fonts, %v", len(o.fonts), err)
	}
	for _, path := range []string{other, dir, filepath.Join(dir, "c.ttf")} {
		o := Options{Font: path}
		if _, err := o.FindFonts(t.Context(), nil); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
