package loadgen

import (
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// statMessage is a Stat as a queue-proxy sends it.
func statMessage(pod string, average float64) []byte {
	var b []byte
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendString(b, pod)
	for _, f := range []struct {
		n protowire.Number
		v float64
	}{{2, average}, {3, average}, {4, 17}, {5, 17}, {6, 3600.5}} {
		if f.v == 0 {
			continue // proto3 leaves zeros out
		}
		b = protowire.AppendTag(b, f.n, protowire.Fixed64Type)
		b = protowire.AppendFixed64(b, math.Float64bits(f.v))
	}
	b = protowire.AppendTag(b, 7, protowire.VarintType)
	return protowire.AppendVarint(b, 1_700_000_000_000)
}

func TestDecodeStat(t *testing.T) {
	for _, want := range []float64{0, 0.25, 1, 11} {
		if got, err := decodeStat(statMessage("llm-abc", want)); err != nil || got != want {
			t.Errorf("%g: %g, %v", want, got, err)
		}
	}
	// Nothing else is taken for "no load".
	for name, b := range map[string][]byte{
		"empty":     nil,
		"html":      []byte("<html>502 Bad Gateway</html>"),
		"cut":       statMessage("llm-abc", 1)[:14],
		"NaN":       statMessage("p", math.NaN()),
		"negative":  statMessage("p", -1),
		"infinite":  statMessage("p", math.Inf(1)),
		"text page": []byte("# HELP go_goroutines\n"),
	} {
		if got, err := decodeStat(b); err == nil {
			t.Errorf("%s is taken for a load of %g", name, got)
		}
	}
}

func TestDecodeSlots(t *testing.T) {
	if got, err := decodeSlots([]byte(`[{"id":0,"is_processing":true},{"id":1,"is_processing":false},{"is_processing":true}]`)); err != nil || got != 2 {
		t.Errorf("%g, %v", got, err)
	}
	for _, s := range []string{"", "{}", `[{}]`, `{"error":{"message":"Invalid API Key"}}`} {
		if got, err := decodeSlots([]byte(s)); err == nil {
			t.Errorf("%q is taken for %g busy slots", s, got)
		}
	}
}
