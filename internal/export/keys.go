package export

import (
	"strings"
	"time"

	"lightsout/internal/text"
)

// lineBelow reports whether there is a line below the screen.
func (o Options) lineBelow() bool { return o.Captions || o.Keys }

// pressed is the keys that are shown: those pressed last, for a while.
type pressed struct {
	names []string
	last  time.Duration
}

const (
	keysMost = 8               // at once
	keyStays = 2 * time.Second // after the last one
	keyMost  = 20              // characters of a name
)

// add takes a key.
func (p *pressed) add(e Event) {
	if e.At-p.last > keyStays {
		p.names = nil
	}
	p.names = append(p.names, text.Clean(e.Data, keyMost))
	p.names = p.names[max(0, len(p.names)-keysMost):]
	p.last = e.At
}

// beside puts the keys that were pressed shortly before at in front of a caption.
func (p *pressed) beside(caption string, at time.Duration) string {
	if len(p.names) == 0 || at-p.last > keyStays {
		return caption
	}
	return strings.TrimSpace("[" + strings.Join(p.names, " ") + "]  " + caption)
}
