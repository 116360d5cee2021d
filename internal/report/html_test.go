package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"lightsout/cluster"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// element is a start tag of a page, with the text directly in it.
type element struct {
	name string
	attr map[string]string
	text string
}

// elements reads a page; it must be well-formed.
func elements(t *testing.T, page []byte) []*element {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var out, open []*element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if len(open) != 0 {
				t.Fatalf("%s is not closed", open[len(open)-1].name)
			}
			return out
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attr: map[string]string{}}
			for _, a := range token.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			out, open = append(out, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(token)
			}
		}
	}
}

// fill matches what a picture may point to: a pattern of its own.
var ownPattern = regexp.MustCompile(`^url\(#[a-z0-9-]+\)$`)

func TestAPageNeedsNothingButItself(t *testing.T) {
	known := map[string]bool{}
	for _, n := range strings.Fields("html head meta title style body header main section p h1 h2 span ul li dl div dt dd figure figcaption " +
		"svg desc defs pattern rect path circle text g table thead tbody tr th td") {
		known[n] = true
	}
	for name, make := range fixtures {
		ids := map[string]bool{}
		all := elements(t, write(t, asHTML, make()))
		for _, e := range all {
			if id := e.attr["id"]; id != "" {
				if ids[id] {
					t.Errorf("%s: two elements have the id %q", name, id)
				}
				ids[id] = true
			}
		}
		for _, e := range all {
			if !known[e.name] {
				t.Errorf("%s: there is a <%s>", name, e.name)
			}
			for a, v := range e.attr {
				if strings.HasPrefix(a, "on") || a == "src" || a == "href" || a == "style" || a == "srcset" || a == "xlink" {
					t.Errorf("%s: <%s %s=%q>", name, e.name, a, v)
				}
				if strings.Contains(v, "url(") && (!ownPattern.MatchString(v) || !ids[v[5:len(v)-1]]) {
					t.Errorf("%s: %s points to %s, which is not in the page", name, e.name, v)
				}
			}
			if e.name == "style" && regexp.MustCompile(`url\(|@import|//`).MatchString(e.text) {
				t.Errorf("%s: the style points outside", name)
			}
		}
	}
}

func TestNothingOfARecordBecomesMarkup(t *testing.T) {
	page := write(t, asHTML, hostileRecord())
	shown := 0
	for _, e := range elements(t, page) {
		if strings.Contains(e.text, "<script>alert(1)</script>") {
			shown++
		}
		for a, v := range e.attr {
			if (a == "class" || a == "id" || a == "fill" || a == "d") && strings.Contains(v, "alert") {
				t.Errorf("<%s %s=%q>", e.name, a, v)
			}
		}
	}
	if shown < 30 {
		t.Errorf("the texts are to be shown as they are, but only %d are", shown)
	}
	harmlessText(t, "the page", string(page))
}

func TestAPageIsAccessible(t *testing.T) {
	for name, make := range fixtures {
		ids, all := map[string]*element{}, elements(t, write(t, asHTML, make()))
		for _, e := range all {
			ids[e.attr["id"]] = e
		}
		for _, e := range all {
			switch e.name {
			case "th":
				if e.attr["scope"] != "col" && e.attr["scope"] != "row" {
					t.Errorf("%s: a th without scope", name)
				}
			case "svg":
				if e.attr["role"] != "img" {
					t.Errorf("%s: the picture's role is %q", name, e.attr["role"])
				}
				for _, id := range strings.Fields(e.attr["aria-labelledby"]) {
					if ids[id] == nil || ids[id].text == "" {
						t.Errorf("%s: the picture has no %s", name, id)
					}
				}
			case "table":
				if ids[e.attr["aria-labelledby"]] == nil {
					t.Errorf("%s: a table without a name", name)
				}
			}
		}
	}
}

// hours is a record of so many seconds with load and failures all along.
func hours(n int) *record.Record {
	r := &record.Record{Dir: "long", Start: zero, End: zero.Add(time.Duration(n) * time.Second), Zero: zero}
	for i := range n {
		s := record.Second{Second: loadgen.Second{At: zero.Add(time.Duration(i) * time.Second), Sampled: true, Served: 8 + i%8, Queued: i % 5, Capacity: 16, Target: 16,
			Sent: 20, OK: 17, Failed: map[loadgen.Class]int{loadgen.ClassReset: 1, loadgen.Class503: 1, loadgen.ClassIdle: 1}}, Available: 16}
		r.Seconds = append(r.Seconds, s)
		if i%3 == 0 {
			at := s.At
			r.Events = append(r.Events, view.Event{Seq: i + 1, At: at, Seen: at, Lane: "node", Subject: "node-" + strconv.Itoa(i%50), Text: "Ready → NotReady", From: "Ready", To: "NotReady", Code: view.CodeNodeStatus, Change: cluster.ChangeStatus, Was: cluster.HealthGood, Is: cluster.HealthBad})
		}
	}
	return r
}

func TestLongRecordsStaySmallAndLoseNothing(t *testing.T) {
	for _, n := range []int{480, 481, 3600, 24 * 3600} {
		r := hours(n)
		page := write(t, asHTML, r)
		if len(page) > 1<<20 {
			t.Errorf("%d s: %d bytes", n, len(page))
		}
		bins, size := binsOf(r)
		var ok, failed int
		for _, b := range bins {
			ok, failed = ok+b.OK, failed+b.FailedSum()
		}
		if len(bins) > columnsMost || ok != 17*n || failed != 3*n {
			t.Errorf("%d s: %d columns of %d s with %d ok and %d failed", n, len(bins), size, ok, failed)
		}
	}
}
