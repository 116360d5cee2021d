package loadgen

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// builtinPrompts are sent, in turn, by a Chat that has no prompt of its own:
// short and long ones, in two languages, with answers of different length.
var builtinPrompts = []string{
	"Count from one to fifty in words.",
	"How does a heartbeat between two machines work, and what can you conclude when it stops?",
	"Explain to a child why the sky is dark at night.",
	"日本で一番高い山について、三つの文で説明してください。",
	"Write a letter of complaint about a lift that has been out of order for a month. Be polite, but leave no doubt that it has to be repaired this week.",
	"Name ten things that can be found in a toolbox.",
	"コンピュータの電源を切る前に確かめるべきことを五つ挙げてください。",
	"Tell the story of a lighthouse keeper whose lamp goes out in a storm.",
}

// ParsePrompts reads prompts, one a line. Empty lines and lines that begin with "#" are
// skipped; a backslash and an n stand for a line break. The error names the line that is
// not UTF-8, or reports that there is no prompt.
func ParsePrompts(data []byte) (out []string, err error) {
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		text := strings.TrimSpace(line)
		switch {
		case text == "" || text[0] == '#':
			continue
		case !utf8.ValidString(text):
			return nil, fmt.Errorf("prompts: line %d is not UTF-8", n)
		}
		out = append(out, strings.ReplaceAll(text, `\n`, "\n"))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("there are no prompts: give one a line")
	}
	return out, nil
}
