package e2e

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"

	"github.com/creack/pty"
)

// typist runs the built program on a terminal and types an answer to each
// prompt. It returns what the terminal showed.
func typist(t *testing.T, answers map[string]string, args ...string) (shown string, err error) {
	t.Helper()
	cmd := program(context.Background(), t, nil, args...)
	tty, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	limit := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	var out bytes.Buffer
	buf := make([]byte, 4096)
	answered := 0
	for {
		n, err := tty.Read(buf)
		out.Write(buf[:n])
		for prompt, answer := range answers {
			// The program is ready for the answer when it shows "> ".
			if at := strings.Index(out.String()[answered:], prompt); at >= 0 && (strings.HasSuffix(out.String(), "> ") || strings.HasSuffix(out.String(), "[y/N] ")) {
				answered = out.Len()
				if _, err := tty.WriteString(answer + "\n"); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err != nil {
			break
		}
	}
	return out.String(), cmd.Wait()
}

// TestNoSecretIsWrittenAnywhere plants secrets of every sort, uses each of them
// on the lab, and searches all that was written and shown.
func TestNoSecretIsWrittenAnywhere(t *testing.T) {
	testenv.Long(t, 60)
	t.Parallel()
	const passphrase, sudoPassword = "planted-passphrase-7391", "planted-sudo-password-4406"
	l := labtest.Lease(t, "mdx")
	written := t.TempDir() // everything that lightsout writes
	secrets := map[string]string{"passphrase": passphrase, "sudo's password": sudoPassword}
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	var locked, keyFile string
	config := l.ConfigWith(func(c map[string]any) {
		c["state"] = filepath.Join(written, "state")
		keyFile = c["load"].(map[string]any)["api_key_file"].(string)
		secrets["API key"] = read(keyFile)
		secrets["portal token"] = read(c["power"].(map[string]any)["mdx"].(map[string]any)["token_file"].(string))
		s := c["ssh"].(map[string]any)
		locked = write(t, "id", read(s["identity_files"].([]any)[0].(string))+"\n")
		if out, err := exec.Command("ssh-keygen", "-p", "-q", "-a", "1", "-N", passphrase, "-f", locked).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
		s["identity_files"] = []string{locked}
		s["shutdown"] = "sudo -S shutdown -h now"
		delete(s, "config")
	})
	plain := l.ConfigWith(func(c map[string]any) { c["state"] = filepath.Join(written, "state") })
	for what, s := range secrets {
		if len(s) < 8 {
			t.Fatalf("the %s is %q: too short to be searched for", what, s)
		}
	}
	said := map[string]string{}
	say := func(by, text string) {
		said[by] += text
	}

	shown, err := typist(t, map[string]string{"Passphrase": passphrase, "sudo's password": sudoPassword, "[y/N]": "y"},
		args(l, config, "power", "shutdown", "kube-node3")...)
	say("terminal", shown)
	if err != nil || !strings.Contains(shown, "Passphrase") || !strings.Contains(shown, "sudo's password") || !strings.Contains(shown, "is off, proven") {
		t.Fatalf("the secrets were not used, or it is not off: %v\n%s", err, shown)
	}
	plan := write(t, "one.yaml", onePlan)
	for _, args := range [][]string{
		args(l, plain, "power", "status"),
		args(l, plain, "check"),
		args(l, plain, "restore", "--yes"),
		args(l, plain, "trial", "run", plan, "--yes", "--record", filepath.Join(written, "trial")),
		// What fails says more.
		args(l, l.ConfigWith(func(c map[string]any) {
			c["power"].(map[string]any)["mdx"].(map[string]any)["url"] = "http://10.0.0.2/elsewhere"
			c["state"] = filepath.Join(written, "state")
		}), "power", "off", "kube-node4", "--yes", "--confirm", "lab-mdx"),
		{"load", "http://" + testenv.Refusing(t) + "/v1/chat/completions", "--chat", "--model", "m", "--burst", "4", "--api-key-file", keyFile, "--record", filepath.Join(written, "load")},
	} {
		out, errs, code := run(t, nil, args...)
		if code == exitUsage {
			t.Fatalf("%v was not carried out: %s", args, errs)
		}
		say(strings.Join(args, " "), out+errs)
	}
	// Where the machine is slow, the trial may end before its second load.
	if s := readSummary(t, filepath.Join(written, "trial")); s.Ledger.OK < 4 {
		t.Errorf("the API key was not used: %+v, %+v", s.Ledger, s.Steps)
	}

	files := 0
	err = filepath.WalkDir(written, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		say(path, string(b))
		return err
	})
	if err != nil || files < 5 {
		t.Fatalf("only %d files were written: %v", files, err)
	}
	for by, text := range said {
		for what, s := range secrets {
			if i := strings.Index(text, s); i >= 0 {
				t.Errorf("the %s is in %s: …%q…", what, by, text[max(0, i-60):i])
			}
		}
	}
}
