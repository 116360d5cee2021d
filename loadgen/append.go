package loadgen

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// AppendJSON appends the record as encoding/json would write it, without a
// line break, at a fraction of the cost: a busy generator writes thousands a
// second. A number or time that JSON does not have is left out.
func (r Record) AppendJSON(b []byte) []byte {
	b = appendString(append(b, `{"id":`...), r.ID)
	b = strconv.AppendInt(append(b, `,"run":`...), int64(r.Run), 10)
	b = appendString(append(b, `,"shape":`...), string(r.Shape))
	b = appendString(append(b, `,"class":`...), string(r.Class))
	b = appendInt(b, `,"count":`, int64(r.Count))

	b = appendTime(append(b, `,"scheduled":`...), r.Scheduled)
	b = appendSetTime(b, `,"dial":`, r.Dial)
	b = appendSetTime(b, `,"connected":`, r.Connected)
	b = appendSetTime(b, `,"sent":`, r.Sent)
	b = appendSetTime(b, `,"first_byte":`, r.FirstByte)
	b = appendSetTime(b, `,"first_token":`, r.FirstToken)
	b = appendSetTime(b, `,"last_token":`, r.LastToken)
	b = appendSetTime(b, `,"last_byte":`, r.LastByte)
	b = appendTime(append(b, `,"end":`...), r.End)

	b = appendText(b, `,"entry":`, r.Entry)
	b = appendText(b, `,"remote":`, r.Remote)
	b = appendTrue(b, `,"reused":true`, r.Reused)
	b = appendInt(b, `,"status":`, int64(r.Status))
	b = appendInt(b, `,"bytes":`, r.Bytes)
	b = appendInt(b, `,"tokens":`, int64(r.Tokens))
	b = appendTrue(b, `,"unframed":true`, r.Unframed)
	if r.MaxGap != 0 {
		b = appendJSON(b, `,"max_gap_ms":`, r.MaxGap)
	}
	if len(r.Stalls) > 0 {
		b = appendJSON(b, `,"stalls":`, r.Stalls)
	}
	b = appendText(b, `,"errno":`, r.Errno)
	b = appendText(b, `,"error":`, r.Error)
	return append(b, '}')
}

func appendInt(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(append(b, name...), n, 10)
}

func appendTrue(b []byte, field string, set bool) []byte {
	if !set {
		return b
	}
	return append(b, field...)
}

func appendText(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, name...), s)
}

func appendSetTime(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	return appendTime(append(b, name...), t)
}

func appendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

// appendJSON writes rare values with encoding/json, and nothing if that fails.
func appendJSON(b []byte, name string, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return b
	}
	return append(append(b, name...), text...)
}

// appendString writes a string with the escapes that encoding/json uses. Most
// need none.
func appendString(b []byte, s string) []byte {
	if escaped(s) {
		quoted, _ := json.Marshal(s) // text can always be written
		return append(b, quoted...)
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// escaped reports whether a text contains characters that JSON, or encoding/json,
// escapes.
func escaped(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c >= utf8.RuneSelf, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return true
		}
	}
	return false
}
