package plan

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
	"lightsout/internal/text"
)

// Pause does nothing for a while.
type Pause struct{ For time.Duration }

func decodePause(_ kind, n *yaml.Node) (Action, error) {
	d, err := yamlfile.Duration(n, "pause", false)
	return &Pause{For: d}, err
}

// Kind is "pause".
func (p *Pause) Kind() string { return "pause" }

// Subjects names nothing.
func (p *Pause) Subjects() ([]string, string) { return nil, "" }

func (p *Pause) title() string { return "pause of " + short(p.For) }

// Text describes the length of the pause.
func (p *Pause) Text() string { return "pause for " + short(p.For) }

func (p *Pause) check(*checker, *Step) {}

// Begin waits until the pause is over.
func (p *Pause) Begin(r Runner, _ string) Poll {
	until := r.Now().Add(p.For)
	return func(now time.Time) (bool, string, error) {
		left := until.Sub(now)
		return left <= 0, fmt.Sprintf("pause: %s left", text.Span(max(0, left))), nil
	}
}
