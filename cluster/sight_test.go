package cluster

import (
	"testing"
	"time"
)

func TestASpanIsBlindWhileNobodySeesEveryChange(t *testing.T) {
	t.Parallel()
	began := time.Now()
	at := func(s int) time.Time { return began.Add(time.Duration(s) * time.Second) }
	for name, tc := range map[string]struct {
		seen     []int // up to when everything is known, at each second; -1: the link is lost
		skip     int   // seconds that lightsout stands still before the last one
		from, to int   // of the span; 0, 0: there is none
		after    int   // of what is delivered at the end
	}{
		"all is delivered":       {seen: []int{0, 1, 2, 3, 4, 5, 6}, after: 6},
		"a moment late":          {seen: []int{0, 1, 1, 1, 1, 5, 6}, after: 6},
		"the watches are stuck":  {seen: []int{0, 1, 1, 1, 1, 1, 1, 1}, from: 1, after: 1},
		"they were stuck":        {seen: []int{0, 1, 1, 1, 1, 1, 1, 7, 8}, from: 1, to: 7, after: 1},
		"long ago":               {seen: []int{0, 1, 1, 1, 1, 1, 1, 7, 8, 9, 10, 11, 12}, from: 1, to: 7, after: 12},
		"the link is lost":       {seen: []int{0, 1, 2, -1, -1}, from: 2, after: 2},
		"lightsout stands still": {seen: []int{0, 1, 2, 60}, skip: 57, from: 2, to: 60, after: 2},
	} {
		var v Sight
		end := 0
		for i, seen := range tc.seen {
			end = i
			if i == len(tc.seen)-1 {
				end += tc.skip
			}
			link := Link{State: LinkLive, LastContact: at(seen)}
			if seen < 0 {
				link = Link{State: LinkDisconnected, LastContact: at(2)}
			}
			v.Look(NewSnapshot(Contents{Link: link}), at(end))
		}
		var got Blind
		if spans := v.Spans(); len(spans) > 0 {
			got = spans[0]
		}
		want := Blind{From: at(tc.from), To: at(tc.to)}
		if tc.to == 0 {
			want.To = time.Time{}
		}
		if tc.from == 0 {
			want.From = time.Time{}
		}
		if !got.From.Equal(want.From) || !got.To.Equal(want.To) || len(v.Spans()) > 1 {
			t.Errorf("%s: %v, want %v", name, v.Spans(), want)
		}
		s := NewSnapshot(Contents{Blind: v.Spans()})
		if when := s.When(at(end), time.Time{}); !when.After.Equal(at(tc.after)) || !when.By.Equal(at(end)) {
			t.Errorf("%s: it became so at %v", name, when)
		}
	}
}
