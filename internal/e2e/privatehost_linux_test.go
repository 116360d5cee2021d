package e2e

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// inPrivateHost is set where privateHost has done its work.
const inPrivateHost = "LIGHTSOUT_TEST_PRIVATE_HOST"

// privateHost gives the test binary and all programs that it starts folders of their own
// in the place of dirs, which all programs of a host share, such as power.LockDir. They
// are empty at first and gone at the end. Without it, a machine that somebody on this
// host left off fails tests that find nothing off. Call it first in TestMain.
//
// It runs the test binary anew in a mount namespace of its own. Only root may do so: for
// other accounts privateHost does nothing.
func privateHost(dirs ...string) {
	if os.Geteuid() != 0 || os.Getenv(inPrivateHost) != "" {
		return
	}
	runtime.LockOSThread() // the namespace is the thread's, and then that of the new program
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		runtime.UnlockOSThread()
		fmt.Fprintln(os.Stderr, "no mount namespaces here, so the tests share this host's folders:", err)
		return
	}
	err := mountEmpty(dirs)
	if err == nil {
		err = syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), inPrivateHost+"=1"))
	}
	fmt.Fprintln(os.Stderr, "cannot hide this host's shared folders from the tests:", err)
	os.Exit(1)
}

// mountEmpty mounts an empty file system over each folder, for this mount namespace alone.
func mountEmpty(dirs []string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil { // as lightsout makes it
			return err
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=1777"); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	return nil
}
