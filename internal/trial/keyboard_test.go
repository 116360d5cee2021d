package trial

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
	"unicode/utf8"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// keys is a session at the keyboard that the test makes up.
type keys struct {
	*rand.Rand
	t     *Runner
	nodes []string
}

// some are different nodes in any order, at least one.
func (k keys) some() []string {
	var out []string
	for _, i := range k.Perm(len(k.nodes))[:1+k.IntN(min(k.IntN(len(k.nodes))+1, len(k.nodes)))] {
		out = append(out, k.nodes[i])
	}
	return out
}

// press does one thing that an operator can do by keyboard.
func (k keys) press() {
	r := k.t.run
	start := func(spec loadgen.Spec) { r.addLoad(spec, r.loadName(spec)) }
	switch k.IntN(9) {
	case 0:
		r.addSwitch(power.ActionShutdown, k.some())
	case 1:
		r.addSwitch(power.ActionOff, k.some())
	case 2, 3:
		r.addSwitch(power.ActionOn, k.some())
	case 4:
		k.t.Draining(k.some())
	case 5:
		start(loadgen.Spec{Shape: loadgen.Burst, N: 1 + k.IntN(100_000)})
	case 6: // the config can permit more in flight than the generator by itself
		start(loadgen.Spec{Shape: loadgen.Hold, N: 1 + k.IntN(100_000)})
	case 7:
		start(loadgen.Spec{Shape: loadgen.Rate, PerSecond: math.Pow(10, k.Float64()*14-9)})
	case 8:
		if k.IntN(2) == 0 {
			k.t.Did(view.StopLoad{})
			return
		}
		k.t.Did(view.AskRollout{Deployment: cluster.Key{Namespace: []string{"default", "nodes", "12"}[k.IntN(3)], Name: k.nodes[k.IntN(len(k.nodes))]}})
	}
}

// Whatever somebody does by keyboard, the record's plan can be read, and has the same steps.
func TestThePlanOfAnyKeyboardSessionCanBeRead(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		k := keys{rand.New(rand.NewPCG(seed, 17)), &Runner{opt: Options{Now: time.Now}}, []string{"kube-node3", "kube-node4", "true", "1e3", "10.0.0.7", "null", "off", "a.b-c.d", "0x1f"}}
		for i := range k.IntN(30) {
			k.nodes = append(k.nodes, fmt.Sprintf("worker-%02d.rack.example.org", i))
		}
		k.t.run = &run{t: k.t, name: []string{"outage", "by-keyboard"}[seed%2]}
		many := k.IntN(12)
		if seed%100 == 99 {
			many = 3 * plan.MaxSteps
		}
		for range many {
			k.press()
		}
		p := k.t.run.byKeyboard([]string{"", "default/llm"}[k.IntN(2)])
		text := p.Marshal()
		q, err := plan.ParseRecorded(text)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if q.Name != p.Name || q.Deployment != p.Deployment || len(q.Steps) != len(p.Steps) {
			t.Fatalf("seed %d: %s, %s, %d steps, not %s, %s, %d", seed, q.Name, q.Deployment, len(q.Steps), p.Name, p.Deployment, len(p.Steps))
		}
		for i, st := range p.Steps {
			long := utf8.RuneCountInString(st.Name) > 160 // the file leaves it out
			if got := q.Steps[i]; !reflect.DeepEqual(got.Action, st.Action) || got.Name != st.Name && !long {
				t.Fatalf("seed %d: step %d is %q: %q, not %q: %q", seed, i+1, got.Name, got.Text(), st.Name, st.Text())
			}
		}
	}
}

// The record replaces names that the plan's format uses too.
func TestThePlanCanBeReadWithNamesReplaced(t *testing.T) {
	t.Parallel()
	words := []string{"name", "deployment", "steps", "load", "burst", "hold", "rate", "background", "off", "on", "nodes", "how", "plug", "drain", "within", "rollout",
		"stop", "all", "true", "false", "null", "kube-node3", "10.0.0.7", "1e3", "n1.example.org", "timeout", "for", "requests", "wait"}
	names := record.NewNames()
	names.Add(record.NameNamespace, words...)
	names.Add(record.NameHost, words...)
	k := &Runner{opt: Options{Now: time.Now, Names: names}}
	k.run = &run{t: k, name: "outage"}
	for _, w := range words {
		k.run.addSwitch(power.ActionOff, []string{w, "kube-node4"})
		k.run.addSwitch(power.ActionOn, []string{w})
		k.Draining([]string{w})
		k.Did(view.AskRollout{Deployment: cluster.Key{Namespace: "nodes", Name: "all"}})
	}
	spec := loadgen.Spec{Shape: loadgen.Hold, N: 16}
	k.run.addLoad(spec, k.run.loadName(spec))
	k.Did(view.StopLoad{})
	p := k.run.byKeyboard("plug/web")
	text := names.Text(string(p.Marshal()))
	q, err := plan.ParseRecorded([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for i, st := range p.Steps {
		if got, want := q.Steps[i].Action, st.Action; got.Kind() != want.Kind() {
			t.Errorf("step %d is %q, not %q", i+1, got.Text(), want.Text())
		}
	}
	if stop, ok := q.Steps[len(q.Steps)-1].Action.(*plan.Stop); !ok || stop.Step != plan.AllLoads {
		t.Errorf("the last step is %q", q.Steps[len(q.Steps)-1].Text())
	}
}
