package report

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"lightsout/internal/record"
	"lightsout/internal/record/examples"
)

// seeds are the files of the shipped examples, cut to a length that can be
// changed in a sensible time.
func seeds(f *testing.F) (out [][4]string) {
	for _, name := range examples.Names() {
		dir, _ := examples.Open(name)
		var files [4]string
		for i, file := range []string{record.EventsFile, record.RequestsFile, record.SamplesFile, record.SummaryFile} {
			b, err := fs.ReadFile(dir, file)
			if err != nil {
				f.Fatal(err)
			}
			lines := bytes.SplitAfter(b, []byte("\n"))
			if file != record.SummaryFile {
				b = bytes.Join(lines[:min(len(lines), 6)], nil)
			}
			files[i] = string(b)
		}
		out = append(out, files)
	}
	return out
}

// FuzzReports makes all reports of whatever can be opened as a record.
func FuzzReports(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s[0], s[1], s[2], s[3])
	}
	hostile, err := json.Marshal(hostileRecord().Summary)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("\n", "", "", string(hostile))
	f.Add("", "", `{"at":"2026-11-21T06:10:00Z","key":true,"zero":"2026-11-21T06:10:00Z","cluster":{"nodes":[{"Name":"\u001b]0;x"}],"pods":[{},{"Node":"\u001b]0;x"}]}}`+"\n", "")
	f.Fuzz(func(t *testing.T, events, requests, samples, summary string) {
		files := fstest.MapFS{record.EventsFile: {Data: []byte(events)}, record.RequestsFile: {Data: []byte(requests)}, record.SamplesFile: {Data: []byte(samples)}}
		if summary != "" {
			files[record.SummaryFile] = &fstest.MapFile{Data: []byte(summary)}
		}
		r, err := record.OpenFS(files, "DIR")
		if err != nil {
			return
		}
		harmlessText(t, "the Markdown", string(write(t, asMarkdown, r)))
		page := string(write(t, asHTML, r))
		harmlessText(t, "the page", page)
		for _, bad := range []string{"<script", "<img", "javascript:", "NaN", "%!"} {
			if strings.Contains(page, bad) && !strings.Contains(events+requests+samples+summary, bad[1:]) {
				t.Errorf("the page has %q", bad)
			}
		}
		var compared bytes.Buffer
		if err := Compare(&compared, []*record.Record{r, r}, compareWidth); err != nil {
			t.Fatal(err)
		}
		harmlessText(t, "the comparison", compared.String())
		if r.Summary != nil {
			harmlessText(t, "the lines", strings.Join(Lines(r.Summary, 80), "\n"))
		}
	})
}
