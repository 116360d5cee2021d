package cli

import (
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"lightsout/internal/record"
	"lightsout/loadgen"
)

func FuzzRecountRequests(f *testing.F) {
	f.Add([]byte(`{"id":"a-1","run":1,"class":"ok","status":200}` + "\n" + `{"id":"a-2","class":"unsent","count":3}` + "\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := recountRequests(fstest.MapFS{record.RequestsFile: {Data: data}}, &loadgen.PowerOffs{}, time.Time{}, time.Time{})
		if err == nil && !c.all.Balanced() {
			t.Errorf("%+v does not balance", c.all)
		}
		if err == nil {
			c.seen.missing(1)
		}
	})
}

func TestIDsAreKnownAgain(t *testing.T) {
	var s idSet
	ids := []string{"", "a", "a-", "a-0", "a-00", "a-+1", "a--1", "a-99999999999999999999"}
	for i := 1; i < 10_000; i++ {
		ids = append(ids, fmt.Sprintf("0a-%d", i), fmt.Sprintf("0b-%d", i*i))
	}
	for _, first := range []bool{true, false} {
		for _, id := range ids {
			if _, isNew := s.add(id); isNew != first {
				t.Errorf("%q is new: %v", id, !first)
			}
		}
	}
	if n, gap := s.missing(9000); n != 99980001-9000+1-9905 || gap != "0b-9000" {
		t.Errorf("%d numbers are missing; the first is %q", n, gap)
	}
	if len(s.others) > 10 {
		t.Errorf("%d IDs are kept whole", len(s.others))
	}
}
