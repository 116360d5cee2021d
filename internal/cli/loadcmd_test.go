package cli

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"time"

	"lightsout/loadgen"
)

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
		if _, err := g.Begin(loadgen.Spec{Shape: loadgen.Rate, PerSecond: 20, Requests: requests}); err != nil {
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
		l := &loadOptions{as: &format{value: formatText}}
		if err := l.sumUp(summarizeLoad(g.Run(), began, time.Now()), nil, writer); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("the end of the load: %v", err)
		}
	}
}
