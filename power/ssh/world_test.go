package ssh

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lightsout/internal/testenv"
)

// world is what a server sees in place of this machine's users and of what
// sudo allows them: files that are mounted over those of /etc, for the server
// and its children alone.
type world struct {
	dir  string // readable by everybody
	user string
	uid  int
}

// worldPassword is the password of a world's user.
const worldPassword = "planted-secret"

// newWorld makes a user whom sudo allows what the lines of sudoers say; %u in
// them is the user's name. It needs root's rights.
func newWorld(t *testing.T, sudoers ...string) *world {
	t.Helper()
	for _, name := range []string{"unshare", "perl", "sudo"} {
		tool(t, name)
	}
	if err := exec.Command("unshare", "-m", "true").Run(); err != nil {
		testenv.Skip(t, "a mount namespace is needed: "+err.Error())
	}
	// Not t.TempDir, which is closed to other users.
	dir, err := os.MkdirTemp("", "lightsout-world-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &world{dir: dir, user: "lightsout-tester", uid: 23457}
	hash, err := exec.Command("perl", "-e", `print crypt($ARGV[0], '$6$lightsout$')`, worldPassword).Output()
	if err != nil || len(hash) < 20 {
		t.Fatalf("no password hash: %v", err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Chmod(dir, 0o755))
	must(os.Mkdir(filepath.Join(dir, "home"), 0o755))
	must(os.Chown(filepath.Join(dir, "home"), w.uid, w.uid))
	must(os.Mkdir(filepath.Join(dir, "sudoers.d"), 0o755))
	id := strconv.Itoa(w.uid)
	for name, line := range map[string]string{
		"passwd": w.user + ":x:" + id + ":" + id + "::" + dir + "/home:/bin/sh",
		"group":  w.user + ":x:" + id + ":",
		"shadow": w.user + ":" + string(hash) + ":19000:0:99999:7:::",
	} {
		old, err := os.ReadFile("/etc/" + name)
		must(err)
		mode := os.FileMode(0o644)
		if name == "shadow" {
			mode = 0o600
		}
		must(os.WriteFile(filepath.Join(dir, name), append(old, line+"\n"...), mode))
	}
	must(os.WriteFile(filepath.Join(dir, "pam"), []byte("auth required pam_unix.so nodelay\naccount required pam_permit.so\nsession required pam_permit.so\n"), 0o644))
	rules := strings.ReplaceAll(strings.Join(sudoers, "\n"), "%u", w.user)
	must(os.WriteFile(filepath.Join(dir, "sudoers.d", "rules"), []byte(rules+"\n"), 0o440))
	return w
}

// command starts a program that sees the world.
func (w *world) command(name string, args ...string) *exec.Cmd {
	script := `d=$1; shift
for f in passwd group shadow sudoers.d; do mount --bind "$d/$f" "/etc/$f" || exit 1; done
for f in sshd sudo; do mount --bind "$d/pam" "/etc/pam.d/$f" || exit 1; done
exec "$@"`
	return exec.Command("unshare", append([]string{"-m", "--propagation", "private", "sh", "-c", script, "sh", w.dir, name}, args...)...)
}

// script writes a program that everybody in the world may run.
func (w *world) script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(w.dir, name)
	testenv.Script(t, path, "#!/bin/sh\n"+text+"\n")
	return path
}
