package cli

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"regexp"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/pflag"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/tui"
)

// castFlags say how the screen is recorded.
type castFlags struct {
	// file is recorded to from the start; empty: when the operator says so. again:
	// what was begun elsewhere goes on there.
	file    string
	again   bool
	version int
	redact  bool
}

func (f *castFlags) add(s *pflag.FlagSet) {
	s.StringVar(&f.file, "cast", "", "record the screen to this `file`, as asciinema does; ctrl+r begins and ends a recording as well")
	s.IntVar(&f.version, "cast-version", 2, "`version` of the asciicast format, 2 or 3")
	addRedact(s, &f.redact)
}

func addRedact(s *pflag.FlagSet, redact *bool) {
	s.BoolVar(redact, "redact", false, "replace names of hosts, users and namespaces, and addresses, in recordings and records")
}

// check reports what is wrong with the flags. shown: there is a screen.
func (f *castFlags) check(shown bool) error {
	switch {
	case f.version != 2 && f.version != 3:
		return usageError{fmt.Errorf("--cast-version is 2 or 3, not %d", f.version)}
	case f.file != "" && !shown:
		return usageError{errors.New("--cast records the drawn screen, and none is drawn here")}
	}
	return nil
}

// names are to be replaced; nil without --redact.
func (f *castFlags) names() *record.Names {
	if !f.redact {
		return nil
	}
	n := record.NewNames()
	if host, err := os.Hostname(); err == nil {
		n.Add(record.NameHost, host)
	}
	if u, err := user.Current(); err == nil {
		n.Add(record.NameUser, u.Username)
	}
	return n
}

// urlHost finds the host in a URL.
var urlHost = regexp.MustCompile(`://(?:[^/@\s]*@)?([^/:\s"']+)`)

// learnConfig tells the names that stand in the configuration.
func learnConfig(n *record.Names, cfg *config.Config, access *cluster.Config, via string) error {
	if n == nil {
		return nil
	}
	n.Add(record.NameHost, access.Context)
	n.Add(record.NameUser, cfg.SSH.User)
	n.Way(cfg.Bastion)
	n.Way(via)
	for _, ns := range cfg.Namespaces {
		n.Add(record.NameNamespace, ns)
	}
	ns, _, ok := strings.Cut(cfg.Load.Deployment, "/")
	if ok {
		n.Add(record.NameNamespace, ns)
	}
	n.Add(record.NameHost, cfg.Load.Host)
	all, err := cfg.Show()
	if err != nil {
		return err
	}
	for _, m := range urlHost.FindAllStringSubmatch(all+" "+access.Server, -1) {
		n.Add(record.NameHost, m[1])
	}
	for node, own := range cfg.Power.FleetNodes() {
		n.Add(record.NameHost, node)
		n.Add(record.NameHost, own.Machine)
	}
	return nil
}

// recording writes what a screen shows to a file, while it is wanted. It
// belongs to the goroutine of the program that draws.
type recording struct {
	flags   castFlags
	names   *record.Names
	model   *tui.Model
	screen  *record.Screen // nil: none is under way
	path    string
	failing bool     // the operator knows that it can't be written
	done    []string // of those that are over, what there is to say
	moments record.Moments
	size    tea.WindowSizeMsg
}

// toggle begins a recording, or ends the one under way.
func (r *recording) toggle() {
	if r.screen != nil {
		r.end()
		r.model.Update(tui.SayMsg(r.done[len(r.done)-1]))
		return
	}
	path := "lightsout-" + time.Now().UTC().Format("20060102T150405Z") + ".cast"
	if err := r.begin(path); err != nil {
		r.model.Update(tui.SayMsg(err.Error()))
		return
	}
	r.say()
}

// say tells the operator where the screen is recorded to.
func (r *recording) say() {
	r.model.Update(tui.SayMsg("the screen is recorded to " + r.path + "; ctrl+r ends that"))
}

func (r *recording) begin(path string) error {
	screen, err := record.NewScreen(path, "lightsout", record.CastOptions{
		Width: r.size.Width, Height: r.size.Height, Version: r.flags.version, Names: r.names,
	})
	if err != nil {
		return err
	}
	r.screen, r.path = screen, path
	r.model.Update(tui.RecordingMsg(true))
	return nil
}

// end ends the recording under way.
func (r *recording) end() {
	if r.screen == nil {
		return
	}
	said := "the recording of the screen is " + r.path
	if n := r.screen.LeftOut(); n > 0 {
		said += fmt.Sprintf("; %s left out, because the disk was too slow", text.Count(n, "picture was", "pictures were"))
	}
	if err := r.screen.Close(); err != nil {
		said = "the recording of the screen is not complete: " + err.Error()
	}
	r.done = append(r.done, said)
	r.screen = nil
	r.model.Update(tui.RecordingMsg(false))
}

// frame puts markers where something happens, and says when the recording can't be
// written any more.
func (r *recording) frame(f *view.Frame) {
	r.names.Learn(f)
	moments := r.moments.In(f)
	if r.screen == nil {
		return
	}
	for _, text := range moments {
		r.screen.Mark(text)
	}
	err := r.screen.Err()
	if err != nil && !r.failing {
		r.model.Update(tui.SayMsg("the screen is not recorded: " + err.Error()))
	}
	r.failing = err != nil
}

// show takes the picture that is drawn.
func (r *recording) show(content string) {
	if r.screen != nil {
		r.screen.Show(time.Now(), r.size.Width, r.size.Height, content)
	}
}

// redactFile replaces names in a file that was written without that.
func redactFile(path string, names *record.Names) {
	if names == nil {
		return
	}
	if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
		_ = os.WriteFile(path, []byte(names.Text(string(b))), 0o600)
	}
}
