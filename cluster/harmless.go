package cluster

import "lightsout/internal/text"

// textMax is the most characters kept of a text from the cluster.
const textMax = 1024

// harmless makes a text from the cluster fit for a terminal and a log.
func harmless(s string) string { return text.Clean(s, textMax) }
