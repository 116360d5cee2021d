package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// PluginArg is the first argument of the program when it is to become a credential plugin:
// see Plugin.
const PluginArg = "become-credential-plugin"

// execInfo is the variable by which client-go tells a plugin whether it may ask.
const execInfo = "KUBERNETES_EXEC_INFO"

// terminalTaken is set while a screen has the terminal or is about to.
const terminalTaken = "LIGHTSOUT_TERMINAL_TAKEN"

// TakeTerminal leaves credential plugins that start from now on without a terminal, until release: a screen
// takes it, and may not have set it up yet when the first of them runs.
func TakeTerminal() (release func()) {
	os.Setenv(terminalTaken, "yes")
	return func() { os.Unsetenv(terminalTaken) }
}

// Plugin becomes the credential plugin of these arguments, and returns an exit code if that
// fails. The plugin gets the terminal if nothing else has it; otherwise it has none, so that
// it can neither draw on the screen nor take its keys. On Linux it ends when this program does.
func Plugin(argv []string) int {
	path, err := exec.LookPath(argv[0])
	env := os.Environ()
	if err == nil && (os.Getenv(terminalTaken) != "" || !terminalIsFree()) {
		env, err = withoutTerminal(env)
	}
	if err == nil {
		err = endWithParent()
	}
	if err == nil {
		err = syscall.Exec(path, argv, env)
	}
	fmt.Fprintf(os.Stderr, "the credential plugin %s can't be run: %s\n", argv[0], flat(err))
	return 1
}

// terminalIsFree reports whether standard input is a terminal that reads lines, and this
// process may read them: a program that draws a screen reads single keys.
func terminalIsFree() bool {
	mode, err := unix.IoctlGetTermios(0, getTermios)
	if err != nil || mode.Lflag&unix.ICANON == 0 {
		return false
	}
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// withoutTerminal gives this process a session of its own, and tells the plugin by its
// environment that nobody can answer.
func withoutTerminal(env []string) ([]string, error) {
	if _, err := unix.Setsid(); err != nil && !errors.Is(err, unix.EPERM) { // EPERM: it leads its group
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err == nil {
		err = unix.Dup2(int(null.Fd()), 0)
	}
	if err != nil {
		return nil, err
	}
	for i, v := range env {
		text, is := strings.CutPrefix(v, execInfo+"=")
		var info map[string]any
		if !is || json.Unmarshal([]byte(text), &info) != nil {
			continue
		}
		if spec, ok := info["spec"].(map[string]any); ok {
			spec["interactive"] = false
		}
		if changed, err := json.Marshal(info); err == nil {
			env[i] = execInfo + "=" + string(changed)
		}
	}
	return env, nil
}

// errLoggedIn ends the request of LogIn, which is not sent.
var errLoggedIn = errors.New("the credentials are there")

// logInKey is the context key of a request that is only to get its credentials.
type logInKey struct{}

// LogIn runs the kubeconfig's credential plugin if it may ask something, as long as the
// terminal is free: client-go keeps its answer until it expires. It sends nothing, and waits
// until the plugin ends or ctx does. Calls that fail later give the reason.
func (c *Client) LogIn(ctx context.Context) {
	p := c.cfg.rest.ExecProvider
	if p == nil || p.InteractiveMode == clientcmdapi.NeverExecInteractiveMode || !terminalIsFree() {
		return
	}
	_ = c.get().AbsPath("/version").Do(context.WithValue(ctx, logInKey{}, true)).Error()
}

// The pauses after failures of a credential plugin, which double.
const (
	pluginPauseFirst = 5 * time.Second
	pluginPauseMost  = time.Minute
)

// errRefused: the API server does not accept what the plugin gives.
var errRefused = errors.New(gettingCredentials + "the API server refuses what it gives (401)")

// gettingCredentials begins client-go's errors about a plugin.
const gettingCredentials = "getting credentials: "

// plugin lets a failing credential plugin rest: client-go would run it for each request. One
// request at a time gets its credentials. It is safe for use by several goroutines.
type plugin struct {
	command, self string
	turn          chan struct{} // has a value while a request gets its credentials
	now           func() time.Time

	mu       sync.Mutex
	failed   error // why it failed last; nil if it did not
	refusals int   // since the last request that succeeded
	pause    time.Duration
	until    time.Time
}

// newPlugin has client-go run a credential plugin by way of Plugin. A plugin that is not
// there stays as it is: client-go's error has the kubeconfig's hint for it.
func newPlugin(c *clientcmdapi.ExecConfig) *plugin {
	p := &plugin{command: c.Command, turn: make(chan struct{}, 1), now: time.Now}
	self, err := os.Executable()
	if _, missing := exec.LookPath(c.Command); err == nil && missing == nil {
		p.self = self
		c.Command, c.Args = self, append([]string{PluginArg, p.command}, c.Args...)
	}
	return p
}

// wrap gives requests the plugin's last error while it rests. It stands before client-go's
// own part, and after endsWithContext.
func (p *plugin) wrap(rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		select {
		case p.turn <- struct{}{}:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		release := sync.OnceFunc(func() { <-p.turn })
		defer release()
		if err := p.rests(); err != nil {
			return nil, err
		}
		if w, ok := r.Context().Value(credentialKey{}).(*credentialWait); ok {
			w.release = release
		}
		resp, err := rt.RoundTrip(r)
		return resp, p.note(resp, err)
	})
}

// rests returns the plugin's last error while it rests.
func (p *plugin) rests() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now().Before(p.until) {
		return p.failed
	}
	return nil
}

// note learns from a request how the plugin does, and returns the request's error.
func (p *plugin) note(resp *http.Response, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil && strings.Contains(err.Error(), gettingCredentials):
		if p.self != "" {
			err = errors.New(strings.ReplaceAll(err.Error(), p.self, p.command))
		}
		p.failed = err
	case err == nil && resp.StatusCode == http.StatusUnauthorized:
		// client-go has run the plugin again: the next request may have a new token.
		p.refusals++
		if p.refusals <= int(lineCount) {
			return nil
		}
		p.failed = errRefused
	case err == nil, errors.Is(err, errLoggedIn):
		p.failed, p.refusals, p.pause = nil, 0, 0
		return err
	default:
		return err // the request did not get that far, or got further
	}
	p.pause = min(max(2*p.pause, pluginPauseFirst), pluginPauseMost)
	p.until = p.now().Add(p.pause)
	return err
}
