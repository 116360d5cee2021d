package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// object is the object of a row: its name, the title and facts of its details, and its
// reference at the API server, if it has one.
type object struct {
	name  string
	title string
	facts func(*details)
	ref   cluster.Ref
}

// objectAt is the object that a Ref points at.
func objectAt(ref cluster.Ref) object {
	o := object{name: ref.Name, title: ref.Kind.Name() + " " + ref.Key.String(), ref: ref}
	o.facts = func(d *details) {
		switch ref.Kind {
		case cluster.KindNode:
			d.node(ref)
		case cluster.KindPod:
			d.pod(ref)
		case cluster.KindDeployment:
			d.deployment(ref)
		case cluster.KindStatefulSet, cluster.KindDaemonSet, cluster.KindJob, cluster.KindService:
			d.workload(ref)
		default:
			d.add("name", ref.Name)
			d.add("namespace", ref.Namespace)
			d.described(ref)
			d.written(ref)
		}
	}
	return o
}

func nodeObject(name string) object {
	return objectAt(cluster.Ref{Kind: cluster.KindNode, Key: cluster.Key{Name: name}})
}
func podObject(k cluster.Key) object { return objectAt(cluster.Ref{Kind: cluster.KindPod, Key: k}) }
func deploymentObject(k cluster.Key) object {
	return objectAt(cluster.Ref{Kind: cluster.KindDeployment, Key: k})
}

// aspect is the view of an object: details, YAML or log.
type aspect int

const (
	aspectDetails aspect = iota
	aspectYAML
	aspectLog
)

// objectDialog shows an object: its details, its YAML, or the log of a pod.
type objectDialog struct {
	factsDialog
	m *Model
	object
	aspect, opened aspect
	container      string
	previous       bool
}

// openObject shows an aspect of the object under the cursor.
func openObject(a aspect) func(*Model) {
	return func(m *Model) {
		o, ok := m.active.row(&m.s)
		if pods := logged(&m.s, o.ref); a == aspectLog && len(pods) > 0 {
			o = podObject(pods[0].Key)
		}
		switch {
		case a == aspectLog && o.ref.Kind != cluster.KindPod:
			m.say("pods have logs: 3 goes to the pods" + strings.Repeat("; esc clears a filter", btoi(!ok)))
		case !ok:
			return
		case a != aspectDetails && o.ref == cluster.Ref{}:
			m.say("the object of this line no longer exists")
		case a != aspectDetails && m.s.f.Replay != nil:
			m.say("this is a replay: YAML and logs are not in a record")
		default:
			m.dialogs.open(newObjectDialog(m, o, a))
		}
	}
}

// hasLog reports whether the object under the cursor, or a pod of it, has a log.
func hasLog(m *Model) bool {
	o, _ := m.active.row(&m.s)
	return o.ref.Kind == cluster.KindPod || len(logged(&m.s, o.ref)) > 0
}

// logged returns the pods of a workload; last those that no kubelet answers for.
func logged(s *scene, of cluster.Ref) []*cluster.Pod {
	mute := func(p *cluster.Pod) int { return btoi(p.Node == "" || !p.Gone.IsZero() || s.snap.PodUnheard(p, s.now)) }
	return slices.SortedStableFunc(slices.Values(s.snap.PodsOwnedBy(of)), func(a, b *cluster.Pod) int { return mute(a) - mute(b) })
}

func newObjectDialog(m *Model, o object, a aspect) *objectDialog {
	d := &objectDialog{m: m, object: o, opened: a}
	d.show(a)
	return d
}

// show turns to an aspect.
func (d *objectDialog) show(a aspect) {
	d.aspect, d.pager = a, pager{follows: a == aspectLog}
	switch a {
	case aspectYAML:
		d.heading, d.factsDialog.facts = "YAML of "+d.named(), d.yaml
	case aspectLog:
		d.factsDialog.facts = d.log
	default:
		d.heading, d.factsDialog.facts = d.object.title, d.details
	}
}

// named returns the reference at the API server; for an event, that of its object.
func (d *objectDialog) named() string {
	return strings.ToLower(d.ref.Kind.Name()) + " " + d.ref.Key.String()
}

// inspect returns the request to the session for this object.
func (d *objectDialog) inspect() view.Inspect {
	if d.aspect == aspectLog {
		return view.Inspect{Of: d.ref, Log: true, Container: d.container, Previous: d.previous}
	}
	return view.Inspect{Of: d.ref}
}

func (d *objectDialog) title() string {
	if d.aspect != aspectLog {
		return d.heading
	}
	title := "Log of " + cmp.Or(d.shownContainer(), "a container")
	if d.previous {
		title += " before its restart"
	}
	return title + ", " + d.named()
}

// offer returns the action of a key in the dialog.
type offer struct {
	keys string // one letter each, the first is named
	what string
	can  bool
	do   func()
}

// offers are the dialog's keys besides those of the pager; none in a replay, and for an
// object that no longer exists.
func (d *objectDialog) offers() []offer {
	if d.m.s.f.Replay != nil || d.ref == (cluster.Ref{}) {
		return nil
	}
	log, owner := d.aspect == aspectLog, d.owner()
	turn := func(a aspect) func() { return func() { d.show(a) } }
	return slices.DeleteFunc([]offer{
		{"y", "YAML", d.aspect != aspectYAML, turn(aspectYAML)},
		{"c", "container", log && len(d.told().Containers) > 1, d.nextContainer},
		{"]", "next pod", log && len(logged(&d.m.s, owner)) > 1, d.nextPod},
		{"Yc", "copy", true, d.copyAll},
		{"p", "previous", log, func() { d.previous = !d.previous; d.show(aspectLog) }},
		{"lL", "log", !log && d.ref.Kind == cluster.KindPod, turn(aspectLog)},
		{"d", "details", d.aspect != aspectDetails, turn(aspectDetails)},
		{"u", "its " + string(owner.Kind), owner.Name != "", func() { d.m.dialogs.open(newObjectDialog(d.m, objectAt(owner), aspectDetails)) }},
	}, func(o offer) bool { return !o.can })
}

func (d *objectDialog) foot() string {
	keys := map[bool]string{true: "esc close", false: "esc back"}[d.aspect == d.opened]
	for _, o := range d.offers() {
		keys += " · " + o.keys[:1] + " " + o.what
	}
	if d.ref != (cluster.Ref{}) && d.m.s.f.Replay == nil {
		keys += " · ctrl+s save"
	}
	return d.keys(keys)
}

func (d *objectDialog) press(p pressed) (view.Intent, bool) {
	key := p.name
	switch {
	case d.pager.press(p):
	case key == "esc" && d.aspect != d.opened:
		d.show(d.opened)
	case key == "esc", key == "q", key == "enter" && d.aspect == d.opened:
		return nil, true
	case key == "ctrl+s":
		return view.SaveText{Kind: saveKinds[d.aspect], Lines: d.texts()}, false
	default:
		for _, o := range d.offers() {
			if len(key) == 1 && strings.Contains(o.keys, key) {
				o.do()
				break
			}
		}
	}
	return nil, false
}

// saveKinds are the endings of the files that keep aspects.
var saveKinds = map[aspect]string{aspectDetails: "txt", aspectYAML: "yaml", aspectLog: "log"}

// texts are the lines of the dialog, as they are copied and saved.
func (d *objectDialog) texts() []string {
	out := []string{"# " + d.title()}
	for _, f := range d.factsDialog.facts(&d.m.s) {
		switch {
		case f.plain:
			out = append(out, f.value)
		case f.value == "":
			out = append(out, f.label)
		default:
			out = append(out, fmt.Sprintf("  %-20s %s", f.label, f.value))
		}
	}
	return out
}

// mostCopied is the size from which terminals refuse to take a text for the clipboard (74,994
// bytes in xterm, which is 100,000 encoded).
const mostCopied = 74_994

// copyAll copies all lines of the dialog.
func (d *objectDialog) copyAll() {
	lines := d.texts()
	all := strings.Join(lines, "\n") + "\n"
	if len(all) > mostCopied {
		d.m.say(fmt.Sprintf("not copied: %d KB are too long for terminals; ctrl+s saves them", len(all)>>10))
		return
	}
	d.m.toClipboard(all, text.Count(len(lines), "line", "lines"))
}

// nextContainer turns to the log of the pod's next container.
func (d *objectDialog) nextContainer() {
	all, shown := d.told().Containers, d.shownContainer()
	i := slices.IndexFunc(all, func(c cluster.Container) bool { return c.Name == shown })
	d.container = all[(i+1)%len(all)].Name
	d.show(aspectLog)
}

// nextPod turns to the log of the next pod of the same owner.
func (d *objectDialog) nextPod() {
	all := logged(&d.m.s, d.owner())
	i := slices.IndexFunc(all, func(p *cluster.Pod) bool { return p.Key == d.ref.Key })
	d.object = podObject(all[(i+1)%len(all)].Key)
	d.show(aspectLog)
}

// told returns the API server's answer about the object; empty before it arrives.
func (d *objectDialog) told() *cluster.Description {
	return cmp.Or(described(&d.m.s, d.ref), &cluster.Description{})
}

// described returns the API server's description of an object; nil before it arrives.
func described(s *scene, ref cluster.Ref) *cluster.Description {
	if l := s.f.Inspection; l != nil && l.Of == ref {
		return l.Object
	}
	return nil
}

// shownContainer is the one that the log is of.
func (d *objectDialog) shownContainer() string {
	all := d.told().Containers
	if i := slices.IndexFunc(all, func(c cluster.Container) bool { return !c.Init }); d.container == "" && i >= 0 {
		return all[i].Name
	}
	return d.container
}

// owner returns the object's owner: for a pod its deployment, not the replica set
// between them.
func (d *objectDialog) owner() cluster.Ref {
	if p := d.m.s.snap.Pod(d.ref.Key); d.ref.Kind == cluster.KindPod && p != nil && p.Deployment != "" {
		return p.Workload()
	}
	return d.told().Owner
}

// details returns all facts about the object.
func (d *objectDialog) details(s *scene) []fact {
	known := &details{s: s}
	d.object.facts(known)
	return known.facts
}

// yaml is the object as the API server has it.
func (d *objectDialog) yaml(s *scene) []fact {
	if described(s, d.ref) == nil {
		return []fact{waiting(s, d.ref)}
	}
	return plainFacts(s, d.told().YAML)
}

// log is the last lines of the pod's log.
func (d *objectDialog) log(s *scene) []fact {
	l := s.f.Inspection
	if l == nil || l.Inspect != d.inspect() {
		return []fact{waiting(s, d.ref)}
	}
	out, p := plainFacts(s, l.Lines), s.snap.Pod(d.ref.Key)
	if l.Cut {
		out = slices.Insert(out, 0, plainFact(s, s.t.dim, fmt.Sprintf("(the newest %d lines)", len(out))))
	}
	switch {
	case l.Err != "":
		out = append(out, plainFact(s, s.t.warn, l.Err))
	case l.Stream == view.StreamEnded && p != nil && p.Node == "":
		out = append(out, plainFact(s, s.t.warn, "has not started: "+cmp.Or(p.Unplaced, s.snap.PodWord(p, s.now))))
	case l.Stream == view.StreamEnded:
		out = append(out, plainFact(s, s.t.dim, "(the end: the container writes no more)"))
	case l.Stream == view.StreamAsked && (p == nil || p.Node == ""):
		out = append(out, waiting(s, d.ref))
	case l.Stream == view.StreamAsked:
		out = append(out, plainFact(s, s.t.dim, "asking the kubelet "+s.t.ellipsis+": "+hearing(s, p.Node)))
	case len(out) == 0:
		out = append(out, plainFact(s, s.t.dim, "the container has written nothing yet"))
	}
	return out
}

// surveyDialog shows the cluster's survey of when the dialog was opened.
type surveyDialog struct {
	factsDialog
	wanted view.Inspect
}

// pairsMost is how many nodes a cluster has at most of which the screen surveys the pairs.
const pairsMost = 100

// openSurvey shows the loss of these nodes together; without any, what the cluster can spare.
func openSurvey(m *Model, nodes []string) {
	pairs := len(nodes) == 0 && len(m.s.snap.Nodes()) <= pairsMost
	command := m.s.f.Program + " survey" + strings.Repeat(" --pairs", btoi(pairs)) + after(" ", text.ShellLine(nodes...), "")
	d := &surveyDialog{wanted: view.Inspect{Survey: max(20, m.w-6), Together: strings.Join(nodes, " "), Pairs: pairs}}
	d.factsDialog = factsDialog{heading: "Survey" + after(" of ", some(len(nodes), text.Noun(len(nodes), "node", "nodes together")), " (:survey without marks: of all)"), facts: d.lines, copies: "its command", copied: func() string { return command }}
	m.dialogs.open(d)
}

func (d *surveyDialog) inspect() view.Inspect { return d.wanted }

// lines is the survey, once it has come.
func (d *surveyDialog) lines(s *scene) []fact {
	l := s.f.Inspection
	if l == nil || l.Inspect != d.wanted {
		return []fact{plainFact(s, s.t.dim, "computing "+s.t.ellipsis)}
	}
	return append(plainFacts(s, l.Lines), plainFact(s, s.t.warn, l.Err), plainFact(s, s.t.dim, "It switches nothing. The cluster at "+l.At.Local().Format("15:04:05")+"; :survey makes a new one."))
}

// waiting reports that the answer about an object has not arrived, or why there is
// none.
func waiting(s *scene, of cluster.Ref) fact {
	if l := s.f.Inspection; l != nil && l.Of == of && l.Err != "" {
		return plainFact(s, s.t.warn, l.Err)
	}
	return plainFact(s, s.t.dim, "asking the API server "+s.t.ellipsis)
}
