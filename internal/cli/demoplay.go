package cli

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/cluster"
	"lightsout/internal/terminal"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/tui"
)

// demoScript holds the captions of the demo that runs by itself: at its beginning, and
// of each step of its scenario's plan.
type demoScript struct {
	begin string
	steps []demoStep
}

// demoStep holds the captions of a step: before it, what to watch, and after it, if it is done, the result. The
// numbers of a result are those that the player has seen.
type demoStep struct{ before, after string }

//go:embed demo.txt
var demoText string

// demoScripts are the parts of demo.txt, one for each built-in plan: a step a line, its result behind a bar.
var demoScripts = func() map[string]demoScript {
	scripts := map[string]demoScript{}
	for _, scenario := range plan.Builtin() {
		lines := strings.Split(strings.TrimSpace(part(demoText, scenario)), "\n")
		script := demoScript{begin: lines[0]}
		for _, line := range lines[1:] {
			before, after, _ := strings.Cut(line, " | ")
			script.steps = append(script.steps, demoStep{before, after})
		}
		scripts[scenario] = script
	}
	return scripts
}()

// Pauses of the demo: between two keys, for reading a caption at least, at a question, and at the end.
const (
	demoKey     = time.Second
	demoCaption = 4 * time.Second
	demoAsk     = 4 * time.Second
	demoEnd     = 15 * time.Second
	// demoLeast is how long a screen stands before a key is pressed: keys that come sooner are not
	// taken for an answer to it.
	demoLeast = 2 * time.Second
)

// demoPlayer does an experiment by the keys that an operator would press. Each
// of its methods reports false when it is to end.
type demoPlayer struct {
	terminal.Beside
	scenario string
	quit     bool // at the end
	ctx      context.Context
	load     demoLoad // since the last caption before a step
}

// demoLoad is what the player has seen of the requests of a step.
type demoLoad struct{ served, queued, failedBefore, failed int }

func (l *demoLoad) see(f *view.Frame) {
	g := f.Load.Gauge
	l.served, l.queued, l.failed = max(l.served, g.Served), max(l.queued, g.Queued), f.Load.Totals.FailedSum()-l.failedBefore
}

// result is the caption after a step.
func (l *demoLoad) result(caption string) string {
	return strings.NewReplacer("{served}", strconv.Itoa(l.served), "{queued}", strconv.Itoa(l.queued), "{failed}", strconv.Itoa(l.failed)).Replace(caption)
}

// play runs beside the screen.
func (p demoPlayer) play(ctx context.Context, b terminal.Beside) {
	p.ctx, p.Beside = ctx, b
	b.Send(tui.SayMsg{Text: "any key pauses the demo"})
	p.experiment()
	if p.quit && p.rest(demoEnd) {
		p.key("q")
	}
	if ctx.Err() == nil {
		b.Send(terminal.BesideOver{})
	}
}

// experiment does it once, from the first look to the verdict.
func (p *demoPlayer) experiment() bool {
	script := demoScripts[p.scenario]
	return p.until(demoSettled) && p.read(script.begin) &&
		p.read("A trial runs a plan, judges it and keeps a record. Enter takes each step.") &&
		p.key("t") && p.until(asked) && p.answer(p.scenario) &&
		p.until(func(f *view.Frame) bool { return f.Trial != nil && f.Trial.Verdict == "" }) &&
		p.steps(script.steps) && p.verdict()
}

// steps takes the steps of the trial, and answers their questions, until there is a
// verdict.
func (p *demoPlayer) steps(script []demoStep) bool {
	said := -1
	for p.until(func(f *view.Frame) bool {
		return f.Trial.Verdict != "" || f.Trial.Waiting || f.Trial.Next != said || asked(f)
	}) {
		f := p.Frame()
		switch t := f.Trial; {
		case t.Verdict != "":
			return p.result(script, said, t)
		case f.Question != nil && f.Question.Refused:
			p.say("lightsout refuses that, for the reason above. The demo ends here.")
			return false
		case asked(f):
			if !p.rest(demoAsk) || !p.answer(f.Question.Choices[min(1, len(f.Question.Choices)-1)].Label) {
				return false
			}
		case t.Next != said:
			if !p.result(script, said, t) {
				return false
			}
			said, p.load = t.Next, demoLoad{failedBefore: f.Load.Totals.FailedSum()}
			if said < len(script) && !p.read(script[said].before) {
				return false
			}
		case t.Waiting:
			if !p.rest(demoLeast) || !p.key("enter") || !p.within(2*time.Second, func(f *view.Frame) bool { return f.Trial.Next != said || !f.Trial.Waiting || asked(f) }) {
				return false
			}
		}
	}
	return false
}

// result shows the caption after the step with that index, if it has one and is done.
func (p *demoPlayer) result(script []demoStep, step int, t *view.TrialView) bool {
	if step < 0 || step >= min(len(script), len(t.Steps)) || script[step].after == "" || t.Steps[step].State != view.StepDone {
		return true
	}
	return p.read(p.load.result(script[step].after))
}

// verdict shows the trial as a whole, and where its report is.
func (p *demoPlayer) verdict() bool {
	return p.rest(demoKey) && p.key("T") && p.say(fmt.Sprintf("Verdict: %s. The table above compares expected and observed, and names the report.", p.Frame().Trial.Verdict))
}

// answer takes the choice with that label of the question that is being asked.
func (p *demoPlayer) answer(label string) bool {
	q := p.Frame().Question
	if q == nil {
		return true // answered already
	}
	i := slices.IndexFunc(q.Choices, func(c view.Choice) bool { return c.Label == label })
	if i < 0 || !p.rest(demoLeast) {
		return false
	}
	for range 3 * len(q.Lines) { // wrapped ones, too: the screen takes no yes before it has shown each machine
		if !p.key("down") {
			return false
		}
	}
	if !p.rest(demoKey) {
		return false
	}
	for range i {
		if !p.key("right") || !p.rest(demoKey) {
			return false
		}
	}
	return p.key("enter") && p.until(func(f *view.Frame) bool { return f.Question == nil || f.Question.ID != q.ID })
}

func asked(f *view.Frame) bool { return f.Question != nil && f.Question.Kind != view.QuestionWait }

// demoSettled reports a cluster that is there, with all its replicas.
func demoSettled(f *view.Frame) bool {
	if f.Trial != nil && f.Trial.Verdict == "" || !synced(f.Snapshot) || !hitsKnown(f.Snapshot) || f.NoLoad != "" {
		return false
	}
	return len(f.Snapshot.Deployments()) > 0 && !slices.ContainsFunc(f.Snapshot.Deployments(), func(d *cluster.Deployment) bool { return d.Available < d.Replicas })
}

// say shows a caption.
func (p *demoPlayer) say(text string) bool {
	p.Send(tui.CaptionMsg(text))
	return p.ctx.Err() == nil
}

// read shows a caption for as long as a hall takes to read it: three words a second, three quarters of
// what readers alone take in (238 a minute: Brysbaert 2019).
func (p *demoPlayer) read(caption string) bool {
	return p.say(caption) && p.rest(max(demoCaption, time.Duration(len(strings.Fields(caption)))*time.Second/3))
}

// key presses a key.
func (p *demoPlayer) key(name string) bool {
	k := tea.Key{Code: []rune(name)[0], Text: name}
	if code := map[string]rune{"enter": tea.KeyEnter, "down": tea.KeyDown, "right": tea.KeyRight}[name]; code != 0 {
		k = tea.Key{Code: code}
	}
	p.Send(terminal.PlayedKey(k))
	return p.ctx.Err() == nil
}

// rest waits for a while.
func (p *demoPlayer) rest(d time.Duration) bool {
	return p.within(d, func(*view.Frame) bool { return false })
}

// until waits for a frame, as long as it takes; within does so for a while.
func (p *demoPlayer) until(is func(*view.Frame) bool) bool { return p.within(math.MaxInt64, is) }

func (p *demoPlayer) within(d time.Duration, is func(*view.Frame) bool) bool {
	over := time.After(d)
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		if f := p.Frame(); f != nil {
			p.load.see(f)
			if !p.Paused() && is(f) {
				return p.ctx.Err() == nil
			}
		}
		select {
		case <-p.ctx.Done():
			return false
		case <-over:
			if !p.Paused() {
				return true
			}
			over = time.After(demoKey)
		case <-look.C:
		}
	}
}
