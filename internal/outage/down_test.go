package outage

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSpansAndReasonsJoinIntoTimesDown(t *testing.T) {
	t.Parallel()
	at := func(s float64) time.Time {
		return time.Unix(1_800_000_000, 0).Add(time.Duration(s * float64(time.Second)))
	}
	span := func(k SpanKind, from, to float64) Span {
		return Span{Kind: k, From: at(from), To: at(to), After: at(from)}
	}
	lasts := func(k SpanKind, from float64) Span { return Span{Kind: k, From: at(from), After: at(from)} }
	sign := func(s float64) Reason { return Reason{Kind: Noticed, At: at(s)} }
	asked := func(s float64) Reason { return Reason{Kind: Requested, At: at(s)} }
	givenUp := func(s, until float64) Reason {
		return Reason{Kind: Requested, At: at(s), Until: at(until)}
	}
	another := Reason{Kind: ByAnother, At: at(18)}
	unheard := Reason{Kind: Unanswered, At: at(10), Until: at(70)}
	for name, c := range map[string]struct {
		spans   []Span
		reasons []Reason
		want    string // each time down: from–to, its cause or sign, the number of its spans
	}{
		"nothing":                               {nil, nil, ""},
		"boots before it is heard":              {[]Span{span(SpanOff, 20, 60), span(SpanSilent, 64, 70)}, nil, "20–70 nobody 2"},
		"heard later than Ready":                {[]Span{span(SpanSilent, 20, 64), span(SpanNotReady, 22, 60)}, nil, "20–60 nobody 2"},
		"silent again just after Ready":         {[]Span{span(SpanNotReady, 20, 60), span(SpanSilent, 62, 70)}, nil, "20–70 nobody 2"},
		"twice":                                 {[]Span{span(SpanOff, 20, 60), span(SpanSilent, 66, 70)}, nil, "20–60 nobody 1, 66–70 nobody 1"},
		"to the end":                            {[]Span{span(SpanOff, 20, 60), lasts(SpanSilent, 22)}, nil, "20–end nobody 2"},
		"asked for":                             {[]Span{span(SpanNotReady, 22, 60)}, []Reason{asked(5), asked(20)}, "20–60 operator 1"},
		"asked for again while it is down":      {[]Span{span(SpanNotReady, 22, 60)}, []Reason{asked(20), asked(30)}, "20–60 operator 1"},
		"asked for, and not seen to go":         {nil, []Reason{asked(20)}, "20–20 operator 0"},
		"returned, and asked for again":         {[]Span{span(SpanOff, 22, 60)}, []Reason{asked(20), asked(70)}, "20–60 operator 1, 70–70 operator 0"},
		"given up":                              {nil, []Reason{givenUp(20, 30)}, "20–20 operator 0"},
		"silent after a request was given up":   {[]Span{span(SpanSilent, 40, 60)}, []Reason{givenUp(20, 30)}, "40–60 nobody 1"},
		"a sign":                                {[]Span{span(SpanSilent, 22, 60)}, []Reason{sign(20)}, "20–60 sign 1"},
		"a sign just after it was found off":    {[]Span{span(SpanOff, 19.5, 60)}, []Reason{sign(20)}, "20–60 sign 1"},
		"a sign within the gap":                 {[]Span{span(SpanSilent, 20, 60), span(SpanSilent, 62, 70)}, []Reason{sign(62)}, "20–60 nobody 1, 62–70 sign 1"},
		"a sign while it lasts":                 {[]Span{span(SpanSilent, 20, 60)}, []Reason{sign(40)}, "40–60 sign 1"},
		"another sign while it lasts":           {[]Span{span(SpanSilent, 20, 60)}, []Reason{sign(19), sign(40)}, "19–60 sign 1"},
		"another operator":                      {[]Span{span(SpanSilent, 20, 60)}, []Reason{another}, "20–60 another 1"},
		"an API server that answers nobody":     {[]Span{span(SpanSilent, 20, 60)}, []Reason{unheard}, "20–60 unanswered 1"},
		"a machine off meanwhile":               {[]Span{span(SpanOff, 20, 60)}, []Reason{unheard}, "20–60 nobody 1"},
		"its object is deleted while it is off": {[]Span{span(SpanSilent, 22, 30), span(SpanGone, 30, 80)}, []Reason{sign(20)}, "20–80 sign 2"},
		"its object is deleted":                 {[]Span{lasts(SpanGone, 30)}, nil, ""},
		"deleted after the last heartbeat":      {[]Span{lasts(SpanGone, 21)}, []Reason{sign(20)}, "20–end sign 1"},
	} {
		var got []string
		for _, d := range Downs("n", c.spans, c.reasons) {
			to, cause := "end", []string{"nobody", "operator", "sign", "another", "unanswered"}[d.Reason.Kind]
			if !d.To.IsZero() {
				to = fmt.Sprint(d.To.Sub(at(0)).Seconds())
			}
			got = append(got, fmt.Sprintf("%g–%s %s %d", d.From.Sub(at(0)).Seconds(), to, cause, len(d.Spans)))
		}
		if all := strings.Join(got, ", "); all != c.want {
			t.Errorf("%s: %q, want %q", name, all, c.want)
		}
	}
}

func TestWhatWasSoFromTheBeginningHasNoTimeUnlessItWasAskedFor(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(1_800_000_000+int64(s), 0) }
	d := Down{Spans: []Span{{Kind: SpanOff, From: at(1)}, {Kind: SpanNotReady, From: at(2), To: at(9), After: at(0)}}}
	if !d.Since(SpanOff).IsZero() || !d.Since(SpanNotReady).Equal(at(2)) || !d.Since(SpanSilent).IsZero() || !d.Ready().Equal(at(9)) || !d.Off() {
		t.Errorf("%+v", d)
	}
	if d.Reason.Kind = Requested; !d.Since(SpanOff).Equal(at(1)) {
		t.Error("its machine was on when it was asked to go off")
	}
	d.Spans = append(d.Spans, Span{Kind: SpanGone, From: at(9)})
	if !d.Ready().IsZero() {
		t.Error("a node whose object is deleted is not Ready")
	}
}
