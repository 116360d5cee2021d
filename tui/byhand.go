package tui

import (
	"fmt"
	"slices"
	"strings"

	"lightsout/cluster"
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
	lines func(*handDialog) []byHand
}{
	{"shell: the command line for a shell in the pod, or on the node", []string{"shell", "sh", "exec", "attach", "ssh", "debug"}, (*handDialog).shell},
	{"delete: the command line that deletes the object, or a pod that hangs", []string{"delete", "del", "rm", "kill", "force"}, (*handDialog).remove},
	{"scale: the command line that scales the workload", []string{"scale"}, (*handDialog).scale},
	{"pf: the command line that forwards a port", []string{"pf", "port-forward", "portforward"}, (*handDialog).forward},
	{"top: the command line for the use of CPU and memory", []string{"top", "usage", "metrics"}, (*handDialog).top},
	{"edit: the command line that edits the object", []string{"edit"}, (*handDialog).edit},
}

// handDialog shows the command lines for an object.
type handDialog struct {
	factsDialog
	m     *Model
	of    cluster.Ref
	lines func(*handDialog) []byHand
}

// openByHand shows the command lines for the object under the cursor.
func openByHand(lines func(*handDialog) []byHand) func(*Model) {
	return func(m *Model) {
		o, _ := m.active.row(&m.s)
		d := &handDialog{m: m, of: o.ref, lines: lines}
		if o.ref == (cluster.Ref{}) || len(lines(d)) == 0 {
			m.say("this is not for the object under the cursor: 1, 2, 3 or W go to nodes, deployments, pods, workloads")
			return
		}
		d.factsDialog = factsDialog{heading: "By hand: " + o.ref.Kind.Name() + " " + o.ref.Key.String(), facts: d.show, copies: "1", copied: func() string { return d.command(0) }}
		m.dialogs.open(d)
	}
}

// inspect asks for the pod's containers.
func (d *handDialog) inspect() view.Inspect { return view.Inspect{Of: d.of} }

// command returns one of the commands; empty if there are fewer.
func (d *handDialog) command(i int) string {
	if all := d.lines(d); i < len(all) {
		return all[i].command
	}
	return ""
}

// show lists the commands, each with its number.
func (d *handDialog) show(s *scene) []fact {
	var out []fact
	for i, l := range d.lines(d) {
		out = append(out, fact{label: fmt.Sprint(i + 1), value: s.t.text(l.command), st: s.t.strong})
		if l.note != "" {
			out = append(out, fact{label: " ", value: s.t.text(l.note)})
		}
	}
	if s.f.Via != "" {
		out = append(out, fact{label: " ", value: s.t.text("lightsout reaches the API server via " + s.f.Via + "; kubectl must too"), st: s.t.dim})
	}
	return out
}

func (d *handDialog) foot() string {
	if d.command(1) == "" {
		return d.factsDialog.foot()
	}
	return d.keys("esc close · Y or 1 to 9 copy a command")
}

func (d *handDialog) press(p pressed) (view.Intent, bool) {
	if len(p.name) == 1 && p.name >= "1" && p.name <= "9" && !d.typing {
		if c := d.command(int(p.name[0] - '1')); c != "" {
			copyText(d.m, c)
		}
		return nil, false
	}
	return d.factsDialog.press(p)
}

// kubectl writes a command line for this cluster, in the namespace of the object.
func (d *handDialog) kubectl(words ...string) string {
	all := slices.Clone(d.m.s.f.Kubectl)
	if len(all) == 0 {
		all = []string{"kubectl"}
	}
	if d.of.Namespace != "" {
		all = append(all, "-n", d.of.Namespace)
	}
	return shellLine(append(all, words...)...)
}

// shellLine is a command line that a shell takes as these words.
func shellLine(words ...string) string {
	for i, w := range words {
		words[i] = text.ShellWord(w)
	}
	return strings.Join(words, " ")
}

// named is the object as kubectl takes it. A name after its kind is never taken for a flag.
func (d *handDialog) named() string {
	if d.of.Kind == cluster.KindKnativeService {
		return "ksvc/" + d.of.Name
	}
	return string(d.of.Kind) + "/" + d.of.Name
}

// hasPods reports whether kubectl finds a pod by the object.
func (d *handDialog) hasPods() bool {
	return slices.Contains([]cluster.Kind{cluster.KindPod, cluster.KindDeployment, cluster.KindStatefulSet, cluster.KindDaemonSet, cluster.KindJob}, d.of.Kind)
}

func (d *handDialog) shell() (out []byHand) {
	switch {
	case d.of.Kind == cluster.KindNode:
		if n := d.m.s.snap.Node(d.of.Name); n != nil && len(n.Addresses) > 0 {
			out = append(out, byHand{shellLine("ssh", "--", n.Addresses[0]), "the first address of the node, as your own user"})
		}
		return append(out, byHand{d.kubectl("debug", d.named(), "-it", "--image=busybox"), "a pod on the node with its file system at /host; the pod stays until you delete it"})
	case !d.hasPods():
		return nil
	}
	if o := described(&d.m.s, d.of); o != nil && d.of.Kind == cluster.KindPod {
		for _, c := range o.Containers {
			if !c.Init {
				out = append(out, byHand{d.kubectl("exec", "-it", d.named(), "-c", c.Name, "--", "sh"), ""})
			}
		}
	}
	if out == nil {
		out = []byHand{{d.kubectl("exec", "-it", d.named(), "--", "sh"), ""}}
	}
	out[0].note = d.silent("does not answer while its node is silent")
	return out
}

// silent returns a text if the pod's node is silent; otherwise nothing.
func (d *handDialog) silent(text string) string {
	if p := d.m.s.snap.Pod(d.of.Key); d.of.Kind == cluster.KindPod && p != nil {
		if n := d.m.s.snap.Node(p.Node); n != nil {
			if _, silent := d.m.s.snap.Silent(n, d.m.s.now); silent {
				return text
			}
		}
	}
	return ""
}

// remove deletes an object. A pod that hangs on a silent node has two ways more, which are safe only
// if the machine is off.
func (d *handDialog) remove() []byHand {
	p := d.m.s.snap.Pod(d.of.Key)
	switch {
	case d.of.Kind == cluster.KindNode:
		return []byHand{{d.kubectl("delete", d.named()), "deletes the Node object and its pods, not the machine"}}
	case d.of.Kind != cluster.KindPod || p == nil || d.silent("silent") == "":
		return []byHand{{d.kubectl("delete", d.named()), ""}}
	}
	off := "risk: the container may still run, and write to its volume beside the new pod; first make sure that the machine of " + p.Node + " is off"
	if d.m.s.f.Power[p.Node].Reading.Proves(power.Off) {
		off = "frees the name at once; the machine of " + p.Node + " is proven off, so the container does not run: leave it off until the pod is gone"
	}
	out := []byHand{{d.kubectl("delete", d.named(), "--grace-period=0", "--force"), off}}
	if !strings.HasPrefix(p.Node, "-") {
		node := &handDialog{m: d.m}
		out = append(out, byHand{node.kubectl("taint", "nodes", p.Node, "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"),
			"for all pods of the node: deletes them by force and detaches their volumes, so it must be off too. Once it is back:"},
			byHand{node.kubectl("taint", "nodes", p.Node, "node.kubernetes.io/out-of-service-"), "otherwise nothing runs on the node again"})
	}
	return out
}

func (d *handDialog) scale() []byHand {
	of := *d
	if p := d.m.s.snap.Pod(d.of.Key); d.of.Kind == cluster.KindPod && p != nil && p.Deployment != "" {
		of.of = deploymentObject(cluster.Key{Namespace: p.Namespace, Name: p.Deployment}).ref
	}
	now := 0
	if dep := d.m.s.snap.Deployment(of.of.Key); of.of.Kind == cluster.KindDeployment && dep != nil {
		now = dep.Replicas
	} else if w := d.m.s.snap.Workload(of.of); of.of.Kind == cluster.KindStatefulSet && w != nil {
		now = w.Desired
	} else {
		return nil
	}
	return []byHand{{of.kubectl("scale", of.named(), fmt.Sprintf("--replicas=%d", now)), fmt.Sprintf("%d is what it has now: type the number that you want", now)}}
}

func (d *handDialog) forward() []byHand {
	if !d.hasPods() && d.of.Kind != cluster.KindService {
		return nil
	}
	return []byHand{{d.kubectl("port-forward", d.named(), "8080:80"), "your port 8080 to its port 80: type those that you want"}}
}

func (d *handDialog) top() []byHand {
	if d.of.Kind != cluster.KindNode && d.of.Kind != cluster.KindPod {
		return nil
	}
	return []byHand{{d.kubectl("top", string(d.of.Kind), "--", d.of.Name), "needs a metrics server in the cluster"}}
}

func (d *handDialog) edit() []byHand { return []byHand{{d.kubectl("edit", d.named()), ""}} }
