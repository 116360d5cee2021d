//go:build linux

package e2e

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// askBeforeSync in the environment makes this test binary become the program that
// its arguments name, whose every fsync asks whoever has the other end of
// descriptor 3.
const askBeforeSync = "LIGHTSOUT_TEST_ASK_BEFORE_SYNC"

func init() {
	if os.Getenv(askBeforeSync) != "" {
		fmt.Fprintln(os.Stderr, becomeAsking())
		os.Exit(1)
	}
}

// becomeAsking has the kernel tell of each fsync (seccomp_unotify(2)), hands over
// where it does, and becomes the program.
func becomeAsking() error {
	runtime.LockOSThread() // the filter is this thread's, which the program goes on with
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: unix.SYS_FSYNC},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_FDATASYNC},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		uintptr(unsafe.Pointer(&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(int(listener)), nil, 0); err != nil {
		return err
	}
	unix.CloseOnExec(3)
	if err := os.Unsetenv(askBeforeSync); err != nil {
		return err
	}
	return syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
}

// slowSyncs are those of a program: each takes a second, or until it is let go on.
type slowSyncs struct {
	begun, ended atomic.Int64
	held         sync.RWMutex // locked: no sync ends
}

// prepare has each fsync of the program that is about to start be one of these.
func (d *slowSyncs) prepare(g *glass) {
	g.t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		g.t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(ends[1]), "")
	g.through(os.Args[0])
	g.cmd.ExtraFiles = []*os.File{theirs}
	g.cmd.Env = append(g.cmd.Env, askBeforeSync+"=1")
	var wg sync.WaitGroup
	g.started = func() {
		theirs.Close() // the program has its own
		wg.Go(func() { d.listen(g.t, ends[0]) })
	}
	g.t.Cleanup(wg.Wait) // after the program has ended
}

// listen serves the program whose listener comes by a socket.
func (d *slowSyncs) listen(t *testing.T, socket int) {
	defer unix.Close(socket)
	listener, err := receive(socket)
	if err != nil {
		t.Errorf("the program's syncs are not told: %v", err)
		return
	}
	defer unix.Close(listener)
	d.serve(listener)
}

// receive takes the descriptor that comes by a socket.
func receive(from int) (int, error) {
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(from, make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return 0, fmt.Errorf("%d messages: %w", len(messages), err)
	}
	all, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return all[0], nil
}

// serve lets each call go on when it is time, until the program has ended.
func (d *slowSyncs) serve(listener int) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		p := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(p, -1); err == unix.EINTR {
			continue
		}
		if p[0].Revents&unix.POLLIN == 0 {
			return
		}
		var call struct { // struct seccomp_notif
			id uint64
			_  [9]uint64
		}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&call))); errno != 0 {
			continue // who called has ended meanwhile
		}
		d.begun.Add(1)
		wg.Go(func() {
			time.Sleep(time.Second) // this is the fault, not a wait
			d.held.RLock()
			defer d.held.RUnlock()
			answer := struct { // struct seccomp_notif_resp
				id           uint64
				_            int64
				error, flags uint32
			}{id: call.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
			_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer)))
			d.ended.Add(1)
		})
	}
}
