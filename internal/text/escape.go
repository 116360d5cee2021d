package text

import "strings"

// sequence is the length in bytes of the terminal escape sequence (ECMA-48)
// that s begins with; 0 if there is none. An unfinished sequence extends as far as a
// terminal would read it: a control string without an end takes the rest of its line.
func sequence(s string) int {
	switch {
	case s[0] == 0x1b:
		if len(s) == 1 {
			return 1
		}
		switch c := s[1]; {
		case c == '[':
			return controls(s, 2)
		case strings.IndexByte("]P_^X", c) >= 0:
			return controlString(s, 2)
		case c >= 0x20 && c <= 0x2f: // intermediates, then one final byte
			return final(s, 1, 0x20, 0x2f, 0x30)
		case c >= 0x30 && c <= 0x7e:
			return 2
		}
		return 1
	case s[0] == 0xc2 && len(s) > 1: // C1, as UTF-8 writes it
		switch s[1] {
		case 0x9b:
			return controls(s, 2)
		case 0x9d, 0x90, 0x98, 0x9e, 0x9f:
			return controlString(s, 2)
		}
	}
	return 0
}

// controls ends a control sequence (CSI): parameters, intermediates, one final
// byte.
func controls(s string, i int) int { return final(s, i, 0x20, 0x3f, 0x40) }

// final skips bytes from low to high and one more between first and "~".
func final(s string, i int, low, high, first byte) int {
	for i < len(s) && s[i] >= low && s[i] <= high {
		i++
	}
	if i < len(s) && s[i] >= first && s[i] <= 0x7e {
		i++
	}
	return i
}

// controlString ends an OSC, DCS, SOS, PM or APC: at BEL or ST, or where a
// terminal gives it up: at another escape sequence, or the line's end.
func controlString(s string, i int) int {
	for ; i < len(s); i++ {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\', s[i] == 0xc2 && i+1 < len(s) && s[i+1] == 0x9c:
			return i + 2
		case s[i] == 0x1b || s[i] == '\n' || s[i] == '\r':
			return i
		}
	}
	return i
}
