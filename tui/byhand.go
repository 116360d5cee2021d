package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// byHand is a command line that the operator can copy, and what to know about it: lightsout
// does none of this itself.
type byHand struct{ command, note string }

// handWords are what k9s and kubectl do to the object under the cursor.
var handWords = []struct {
	text  string
	names []string
	lines func(hand) []byHand
	takes func(*Model, []string) (func(*Model), string)
}{
	{"shell: the command line for a shell in the pod, or on the node", []string{"shell", "sh", "exec", "attach", "ssh", "debug"}, hand.shell, takesNone},
	{"delete: the command line that deletes the object, or a pod that hangs", []string{"delete", "del", "rm", "kill", "force"}, hand.remove, takesNone},
	{"scale: the command line that scales the workload", []string{"scale"}, hand.scale, scaleTo},
	{"pf: the command line that forwards a port", []string{"pf", "port-forward", "portforward"}, hand.forward, takesNone},
}

// handDialog shows the command lines for an object; a digit copies one.
type handDialog struct {
	factsDialog
	m     *Model
	lines []byHand
	below string // about all of them
}

// open shows the lines below a heading.
func (d *handDialog) open(heading string) {
	d.factsDialog = factsDialog{heading: heading, facts: d.show, copies: "1", copied: func() string { return d.lines[0].command }}
	for i := range d.lines[1:] {
		d.copies += fmt.Sprintf(" · %d copy %d", i+2, i+2)
	}
	d.m.dialogs.open(d)
}

// openByHand shows the command lines for the object under the cursor.
func openByHand(lines func(hand) []byHand) func(*Model) {
	return func(m *Model) {
		o, _ := m.active.row(&m.s)
		d := &handDialog{m: m}
		if o.ref != (cluster.Ref{}) {
			d.lines = lines(handFor(&m.s, o.ref))
		}
		if len(d.lines) == 0 {
			m.say("this is not for the object under the cursor: 1, 2, 3 or W go to nodes, deployments, pods, workloads")
			return
		}
		if via := m.s.f.Via; via != "" {
			d.below = "lightsout reaches the API server via " + via + "; kubectl must too"
		}
		d.open("By hand: " + o.ref.Kind.Name() + " " + o.ref.Key.String())
	}
}

// show lists the commands, each with its number.
func (d *handDialog) show(s *scene) []fact {
	var out []fact
	for i, l := range d.lines {
		out = append(out, fact{label: fmt.Sprint(i + 1), value: s.t.text(l.command), st: s.t.strong})
		if l.note != "" {
			out = append(out, fact{label: " ", value: s.t.text(l.note)})
		}
	}
	if d.below != "" {
		out = append(out, fact{label: " ", value: s.t.text(d.below), st: s.t.dim})
	}
	return out
}

func (d *handDialog) press(p pressed) (view.Intent, bool) {
	if i, err := strconv.Atoi(p.name); err == nil && !d.typing && i > 0 && i <= len(d.lines) {
		copyText(d.m, d.lines[i-1].command)
		return nil, false
	}
	return d.factsDialog.press(p)
}

// hand writes the command lines for an object.
type hand struct {
	s    *scene
	of   cluster.Ref
	pod  *cluster.Pod // it, if it is a pod that is there
	down string       // why no kubelet answers for the pod, or on the node; empty if one may
	// replicas is the number to scale to; empty: what it has.
	replicas string
}

func handFor(s *scene, of cluster.Ref) hand {
	h := hand{s: s, of: of}
	var on *cluster.Pod // the pod, or any on the node
	switch of.Kind {
	case cluster.KindNode:
		on = &cluster.Pod{Node: of.Name}
	case cluster.KindPod:
		h.pod = s.snap.Pod(of.Key)
		on = h.pod
	}
	if on != nil && (s.snap.PodUnheard(on, s.now) || s.f.Power[on.Node].Reading.Proves(power.Off)) {
		h.down = hearing(s, on.Node)
	}
	return h
}

// kubectl writes a command line for this cluster, in the namespace of the object, that a shell
// takes as these words.
func (h hand) kubectl(words ...string) string {
	all := slices.Clip(h.s.f.Kubectl)
	if len(all) == 0 {
		all = []string{"kubectl"}
	}
	if h.of.Namespace != "" {
		all = append(all, "-n", h.of.Namespace)
	}
	return text.ShellLine(append(all, words...)...)
}

// commandIn is the command for this cluster that ends a sentence, or else the sentence.
func (h hand) commandIn(sentence string) string {
	return sentence[max(0, strings.LastIndex(sentence, h.kubectl()+" ")):]
}

// named is the object as kubectl takes it. A name after its kind is never taken for a flag.
func (h hand) named() string {
	if h.of.Kind == cluster.KindKnativeService {
		return "ksvc/" + h.of.Name
	}
	return string(h.of.Kind) + "/" + h.of.Name
}

func (h hand) shell() []byHand {
	if way := h.s.f.Power[h.of.Name].SSH; h.of.Kind == cluster.KindNode {
		debug := byHand{h.kubectl("debug", h.named(), "-it", "--image=busybox"), cmp.Or(after("! ", h.down, ": its kubelet can't answer"), "a pod on the node with its file system at /host; the pod stays until you delete it")}
		if way == "" {
			debug.note += "; lightsout knows no way to the machine by ssh: else use its console"
			return []byHand{debug}
		}
		return []byHand{{way, "as lightsout logs in to shut it down; the bastion's key comes from your agent or ssh_config"}, debug}
	}
	return h.inPod("-c NAME chooses another container", "exec", "-it", h.named(), "--", "sh")
}

// inPod is a command for a pod that kubectl finds by the object, with a note where its kubelet may answer; nil if
// it finds none.
func (h hand) inPod(note string, words ...string) []byHand {
	if !slices.Contains([]cluster.Kind{cluster.KindPod, cluster.KindDeployment, cluster.KindStatefulSet, cluster.KindDaemonSet, cluster.KindJob, cluster.KindService}, h.of.Kind) {
		return nil
	}
	return []byHand{{h.kubectl(words...), cmp.Or(after("! ", h.down, ": its kubelet can't answer"), note)}}
}

// heldBy names the finalizers without which a pod would be gone; empty if there are none.
func heldBy(p *cluster.Pod) string {
	if p.Finalizers == "" || !p.Gone.IsZero() {
		return ""
	}
	return text.Noun(strings.Count(p.Finalizers, ",")+1, "finalizer ", "finalizers ") + strings.ReplaceAll(p.Finalizers, ",", ", ")
}

// remove deletes an object. A pod that hangs on a silent node has two ways more, last, which are safe only
// if the machine is off. One that finalizers hold ends only without them.
func (h hand) remove() []byHand {
	if h.of.Kind == cluster.KindNode {
		return []byHand{{h.kubectl("delete", h.named()), "deletes the Node object and its pods, not the machine; risk: what still runs on a machine that is only cut off runs twice: first make sure that it is off"}}
	}
	var freed []byHand
	if h.pod != nil && heldBy(h.pod) != "" {
		holds := heldBy(h.pod) + text.Noun(strings.Count(h.pod.Finalizers, ",")+1, " holds it", " hold it")
		freed = []byHand{{h.kubectl("patch", h.named(), "--type=merge", "-p", `{"metadata":{"finalizers":null}}`),
			holds + ": a deletion waits until that is gone; risk: this takes it away, and what its owner does before the pod ends stays undone: first look why it has not"}}
	}
	if h.down == "" {
		return slices.Concat(freed, []byHand{{h.kubectl("delete", h.named()), ""}})[:max(1, len(freed))]
	}
	node, bound := hand{s: h.s}, after("; its volume ", forecast.BoundTo(h.s.snap, h.pod), " is there: no new pod starts before")
	off := "risk: the container may still run, and write to its volume beside the new pod; first make sure that the machine of " + h.pod.Node + " is off"
	if h.s.f.Power[h.pod.Node].Reading.Proves(power.Off) {
		off = "frees the name at once; the machine of " + h.pod.Node + " is proven off, so the container does not run: leave it off until the pod is gone"
	}
	return slices.Concat([]byHand{
		{h.kubectl("delete", h.named(), "--wait=false"), "the pod ends once " + h.pod.Node + " is back" + bound},
		{node.kubectl("taint", "nodes", h.pod.Node, "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"),
			"for all pods of the node: deletes them by force and detaches their volumes, so it must be off too. Once it is back:"},
		{node.kubectl("taint", "nodes", h.pod.Node, "node.kubernetes.io/out-of-service-"), "otherwise nothing runs on the node again"},
		{h.kubectl("delete", h.named(), "--grace-period=0", "--force"), off + bound},
	}[btoi(!h.pod.Deleting.IsZero()):], freed) // one that ends already needs no deletion
}

// scaleTo takes the number of replicas.
func scaleTo(_ *Model, words []string) (func(*Model), string) {
	_, err := strconv.ParseUint(words[0], 10, 31)
	fault := map[bool]string{true: "scale takes the number of replicas, not " + strings.Join(words, " ")}[err != nil || len(words) > 1]
	return openByHand(func(h hand) []byHand { return hand{h.s, h.of, h.pod, h.down, words[0]}.scale() }), fault
}

// scale scales a deployment, that of a pod, or a stateful set.
func (h hand) scale() []byHand {
	if h.pod != nil && h.pod.Deployment != "" {
		h.of = deploymentObject(cluster.Key{Namespace: h.pod.Namespace, Name: h.pod.Deployment}).ref
	}
	w := h.s.snap.Workload(h.of)
	if w == nil || h.of.Kind != cluster.KindDeployment && h.of.Kind != cluster.KindStatefulSet {
		return nil
	}
	return []byHand{{h.kubectl("scale", h.named(), "--replicas="+cmp.Or(h.replicas, fmt.Sprint(w.Desired))), fmt.Sprintf("it has %d now; :scale N writes another number", w.Desired)}}
}

func (h hand) forward() []byHand {
	port := slices.Concat(cmp.Or(h.pod, &cluster.Pod{}).Ports, []int32{80})[0]
	return h.inPod(fmt.Sprintf("your port 8080 to its port %d: type those that you want", port), "port-forward", h.named(), fmt.Sprintf("8080:%d", port))
}
