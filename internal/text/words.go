package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Self is the command that starts this program again, from any folder. main sets it before anybody reads it.
var Self = "lightsout"

// Noun chooses the word that goes with a number: one for 1, else many.
func Noun(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Count writes a number with its word: "1 pod", "8 pods".
func Count(n int, one, many string) string { return fmt.Sprintf("%d %s", n, Noun(n, one, many)) }

// Range writes a number that is at least and at most so much: "3", "3–4".
func Range(n [2]int) string {
	if n[0] == n[1] {
		return strconv.Itoa(n[0])
	}
	return fmt.Sprintf("%d–%d", n[0], n[1])
}

// Each is what each value becomes, such as its text.
func Each[T, To any](all []T, of func(T) To) []To {
	var out []To
	for _, v := range all {
		out = append(out, of(v))
	}
	return out
}

// List joins words as in a sentence: "a, b and c".
func List(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// Few are the first words of many, and how many more there are: "a", "b", "3 more". It leaves out more than one.
func Few(words []string, most int, more string) []string {
	if n := len(words) - most; n > 1 {
		return append(slices.Clone(words[:most]), fmt.Sprintf("%d %s", n, more))
	}
	return words
}

// Capital begins a sentence: its first letter, in ASCII, becomes a capital.
func Capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Took writes how long something took: "0.25 ms", "10 ms", "9.7 s", and from a minute on as Span.
func Took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return Span(d)
}

// Span writes a duration as kubectl would write an age, with seconds: "52s",
// "4m12s", "1h02m", "3d04h". Negative durations are written as "0s".
func Span(d time.Duration) string {
	n := int64(max(0, d) / time.Second)
	switch {
	case n < 60:
		return fmt.Sprintf("%ds", n)
	case n < 3600:
		return fmt.Sprintf("%dm%02ds", n/60, n%60)
	case n < 86400:
		return fmt.Sprintf("%dh%02dm", n/3600, n%3600/60)
	default:
		return fmt.Sprintf("%dd%02dh", n/86400, n%86400/3600)
	}
}

// ShellLine is a command line that a shell takes as these words.
func ShellLine(words ...string) string { return strings.Join(Each(words, ShellWord), " ") }

// ShellWord is a word as a shell takes it.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("@%+=:,./_-", r) || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
