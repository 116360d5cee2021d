package terminal

import (
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/internal/export"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/tui"
)

// recording writes the screen to a file while the operator wants that. Only the
// goroutine that draws may use it.
type recording struct {
	theme   string // as in tui.Options
	names   *record.Names
	screen  *record.Screen // nil: not recording
	path    string
	failing bool         // the operator knows that lightsout cannot write it
	done    []tui.SayMsg // a message for each recording that has ended
	moments record.Moments
	size    tea.WindowSizeMsg
}

// toggle starts a recording at path, without its extension, or ends the running one;
// said is a message for the operator.
func (r *recording) toggle(path string) (said tui.SayMsg) {
	if r.screen != nil {
		r.end()
		return r.done[len(r.done)-1]
	}
	if err := r.begin(path + ".cast"); err != nil {
		return tui.SayMsg{Text: err.Error()}
	}
	return tui.SayMsg{Text: "recording the screen to `" + r.path + "`; V stops it", Copied: r.path}
}

func (r *recording) begin(path string) (err error) {
	r.screen, err = record.NewScreen(path, "lightsout", export.CastTheme(r.theme), r.names)
	r.path = path
	return err
}

// end ends the running recording.
func (r *recording) end() {
	if r.screen == nil {
		return
	}
	said := tui.SayMsg{Text: "recorded the screen to `" + r.path + "`", Copied: r.path}
	if n := r.screen.LeftOut(); n > 0 {
		said.Text += fmt.Sprintf("; %s left out, because the disk was too slow", text.Count(n, "picture was", "pictures were"))
	}
	if err := r.screen.Close(); err != nil {
		said.Text = "the recording of the screen is not complete: " + err.Error()
	}
	r.done = append(r.done, said)
	r.screen = nil
}

// frame adds markers for the changes in f; failure is a message, once, that lightsout
// cannot write the recording.
func (r *recording) frame(f *view.Frame) (failure string) {
	r.names.Learn(f)
	moments := r.moments.In(f)
	if r.screen == nil {
		return ""
	}
	for _, text := range moments {
		r.screen.Mark(text)
	}
	err := r.screen.Err()
	if err != nil && !r.failing {
		failure = "lightsout is not recording the screen: " + err.Error()
	}
	r.failing = err != nil
	return failure
}

// show records the screen that the program draws.
func (r *recording) show(content string) {
	if r.screen != nil {
		r.screen.Show(time.Now(), r.size.Width, r.size.Height, content)
	}
}

// redactFile replaces names in a file that was written without redaction.
func redactFile(path string, names *record.Names) {
	if names == nil {
		return
	}
	if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
		_ = os.WriteFile(path, []byte(names.Text(string(b))), 0o600)
	}
}
