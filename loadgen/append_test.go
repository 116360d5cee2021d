package loadgen

import (
	"encoding/json"
	"testing"
	"time"
)

// What is written by hand is what encoding/json writes, byte for byte.
func FuzzAppendJSON(f *testing.F) {
	f.Add("a-1", "reset", "10.0.0.1:80", "ECONNRESET", `it said "no" <&> \ `+"\x00\n\t\b\f\x7f\u2028\xff", int64(0), int64(1700000000123456789), 0.0, 0, true)
	f.Add("", "", "", "", "", int64(42), int64(0), 12.345, 200, false)
	f.Add("x", "ok", "日本", "", "é", int64(-1), int64(-5), 1e-9, -7, true)
	f.Add("x", "ok", "", "", "", int64(1), int64(1e18), 1e21, 3, true)
	f.Fuzz(func(t *testing.T, id, class, remote, errno, text string, n, at int64, gap float64, status int, set bool) {
		when := time.Unix(0, at).UTC()
		r := Record{
			ID: id, Class: Class(class), Shape: Hold, Run: int(n), Scheduled: when, End: when.Add(time.Duration(status)),
			Remote: remote, Errno: errno, Error: text, Bytes: n, MaxGap: gap, Status: status, Reused: set, Unframed: set,
		}
		if set {
			r.Count, r.Tokens, r.Entry = status, status, remote
			r.Dial, r.Connected, r.Sent, r.FirstByte = when, when.Add(1), when.Add(20), when.Add(300)
			r.FirstToken, r.LastToken, r.LastByte = when.Add(4000), when.Add(50_000), when.In(time.FixedZone("", 3600))
			r.Stalls = []Stall{{when, when.Add(1)}, {when.Add(5), when.Add(6)}}
		}
		want, err := json.Marshal(r)
		if err != nil {
			return // JSON has no such number or time
		}
		if got := r.AppendJSON([]byte("before")); string(got) != "before"+string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func BenchmarkAppendJSON(b *testing.B) {
	now := time.Now()
	r := Record{ID: "0123abcd-12345", Run: 1, Shape: Rate, Class: ClassOK, Scheduled: now, Dial: now, Connected: now, Sent: now,
		FirstByte: now, LastByte: now, End: now, Remote: "10.0.0.11:31514", Status: 200, Bytes: 612}
	buf := make([]byte, 0, 1024)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = r.AppendJSON(buf[:0])
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = json.Marshal(r)
		}
	})
}
