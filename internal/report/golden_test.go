package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lightsout/internal/record"
	"lightsout/internal/record/examples"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s, line %d:\n got %.300q\nwant %.300q", name, i+1, g[i], w[i])
		}
	}
	t.Fatalf("%s: %d lines, want %d", name, len(g), len(w))
}

// onScreen is Text for a screen of 74 columns.
func onScreen(w io.Writer, r *record.Record) error { return Text(w, r, 74) }

func write(t *testing.T, f func(io.Writer, *record.Record) error, r *record.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var fixtures = map[string]func() *record.Record{
	"mdx": mdxRecord, "vagrant": vagrantRecord, "aborted": abortedRecord, "torn": tornRecord, "hostile": hostileRecord,
}

func TestReportsAreAsTheyWereAccepted(t *testing.T) {
	for name, make := range fixtures {
		golden(t, name+".md", write(t, asMarkdown, make()))
		golden(t, name+".html", write(t, asHTML, make()))
		if s := make().Summary; s != nil {
			golden(t, name+".txt", []byte(strings.Join(terminalLines(s, 80), "\n")+"\n"))
		}
	}
}

// The shipped examples are records as an earlier version wrote them.
func TestReportsOfTheExamplesAreAsTheyWereAccepted(t *testing.T) {
	for _, name := range []string{"mdx", "vagrant"} {
		golden(t, "example-"+name+".md", write(t, asMarkdown, example(t, name)))
	}
	golden(t, "example-mdx-screen.txt", write(t, onScreen, example(t, "mdx")))
	golden(t, "example-compare.txt", write(t, func(w io.Writer, r *record.Record) error {
		return Compare(w, []*record.Record{r, example(t, "vagrant")}, compareWidth)
	}, example(t, "mdx")))
}

func example(t *testing.T, name string) *record.Record {
	t.Helper()
	files, _ := examples.Open(name)
	r, err := record.OpenFS(files, name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
