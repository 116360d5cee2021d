package loadgen

import "lightsout/internal/text"

// clean makes text from a server or a network error harmless for a terminal
// and a log: one line of at most limit characters.
func clean(s string, limit int) string { return text.Clean(s, limit) }
