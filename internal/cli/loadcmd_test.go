package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/testenv"
	"lightsout/loadgen"
)

// The disk is full: the summary is printed all the same, and the command fails.
func TestAFullDiskKeepsTheSummaryOfALoad(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		testenv.Skip(t, "no /dev/full here")
	}
	requests, err := record.NewRequests("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	defer requests.Close()
	requests.Add(loadgen.Record{ID: "a-1", Class: loadgen.ClassOK})
	var out bytes.Buffer
	l := loadOptions{dir: t.TempDir()}
	err = l.sumUp(&loadSummary{Balanced: true, Counts: loadgen.Counts{Scheduled: 1, OK: 1}}, requests, &out)
	if err == nil || !strings.Contains(err.Error(), "no space left on device") || !strings.Contains(out.String(), "scheduled 1 = ok 1") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if _, err := os.Stat(filepath.Join(l.dir, record.SummaryFile)); err != nil {
		t.Error(err)
	}
}

// An endless load ends when nobody reads its output any more, as with "| head -3", and its command ends with an error. One
// that has an end goes on until then.
func TestAnEndlessLoadEndsWithItsReader(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for _, requests := range []int{0, 30} {
		g, err := loadgen.New(loadgen.Options{Target: loadgen.Target{URL: server.URL}})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if err := g.Start(loadgen.Spec{Shape: loadgen.Rate, PerSecond: 20, Requests: requests}); err != nil {
			t.Fatal(err)
		}
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = reader.Close()
		defer writer.Close()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		stopped := watchLoad(ctx, g, writer)
		if (stopped != "") != (requests == 0) || ctx.Err() != nil || requests > 0 && g.Run().Totals.Scheduled != requests {
			t.Errorf("a load of %d requests (0: endless) ended after %s: %q", requests, time.Since(began), stopped)
		}
		l := &loadOptions{output: "text"}
		if err := l.sumUp(summarizeLoad(g.Run(), began, time.Now()), nil, writer); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("the end of the load: %v", err)
		}
	}
}

// A load that lightsout refuses leaves no record.
func TestARefusedLoadLeavesNoRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	l := loadOptions{hold: 9, dir: dir, output: "text"}
	l.send.MaxInFlight, l.send.Connections = 3, "fresh"
	if err := runLoad(t.Context(), &options{}, l, "http://127.0.0.1:1/", io.Discard, io.Discard); err == nil {
		t.Error("lightsout sends more requests than the bound")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("an empty record is left")
	}
}
