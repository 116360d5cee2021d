package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// inPrivateHost is set for the process that PrivateHost started.
const inPrivateHost = "LIGHTSOUT_TEST_PRIVATE_HOST"

// PrivateHost gives the test binary and all programs that it starts folders of their own
// in the place of dirs, which all programs of a host share, such as power.LockDir. They
// are empty at first and gone at the end. Without it, a machine that somebody on this
// host left off fails tests that find nothing off. Call it first in TestMain.
//
// It starts the test binary again, in a mount namespace of its own, and exits with the
// status of that one. Only root may do so: for other accounts PrivateHost does nothing.
func PrivateHost(dirs ...string) {
	if os.Geteuid() != 0 {
		return
	}
	if os.Getenv(inPrivateHost) != "" {
		if err := mountEmpty(dirs); err != nil {
			fmt.Fprintln(os.Stderr, "cannot hide this host's shared folders from the tests:", err)
			os.Exit(1)
		}
		return
	}
	runtime.LockOSThread() // Pdeathsig: when the thread ends that started the process
	again := exec.Command("/proc/self/exe", os.Args[1:]...)
	again.Args[0] = os.Args[0]
	again.Env = append(os.Environ(), inPrivateHost+"=1")
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err := again.Run()
	if again.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "no mount namespaces here, so the tests share this host's folders:", err)
		return
	}
	if code := again.ProcessState.ExitCode(); code >= 0 {
		os.Exit(code)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// mountEmpty mounts an empty file system over each folder, for this mount namespace alone.
func mountEmpty(dirs []string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o777); err == nil {
			if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
				return err
			}
		} else if !errors.Is(err, os.ErrExist) {
			return err
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=1777"); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	return nil
}
