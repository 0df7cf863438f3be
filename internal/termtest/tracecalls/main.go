//go:build linux

// Command tracecalls runs a command and writes into a file which system calls it
// makes, its threads and all processes that it starts, that are about sockets, that
// change files or open them for writing, or that start programs, one a line:
//
//	tracecalls FILE COMMAND [ARGUMENT...]
//
//	PID socket unix
//	PID connect unix /run/nscd/socket
//	PID socket 2
//	PID open /dev/null
//	PID rename /a/b /a/c
//	PID ioctl /dev/pts/1
//	PID execve /proc/self/exe
//
// It ends when all of them have ended, as the command did; with 125 where the
// system does not let it trace.
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// native is the kernel's name of calls as this program makes them: those of
// another kind have other numbers.
var native = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: tracecalls FILE COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	code, err := trace(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "tracecalls:", err)
		os.Exit(125)
	}
	os.Exit(code)
}

func trace(file string, command []string) (code int, err error) {
	// A process is traced by a thread.
	runtime.LockOSThread()
	log, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	first := cmd.Process.Pid
	var status unix.WaitStatus
	if _, err := unix.Wait4(first, &status, 0, nil); err != nil || !status.Stopped() {
		return 0, fmt.Errorf("the command is not traced: %v, %v", status, err)
	}
	options := unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE |
		unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(first, options); err != nil {
		return 0, fmt.Errorf("tracing: %w", err)
	}
	known := map[int]bool{first: true}
	for pid := first; ; {
		var pass int
		switch {
		case status.Exited() || status.Signaled():
			delete(known, pid)
			if pid == first {
				code = status.ExitStatus()
				if status.Signaled() {
					code = 128 + int(status.Signal())
				}
			}
		case status.StopSignal() == unix.SIGTRAP|0x80:
			if err := note(log, pid); err != nil {
				return 0, err
			}
		case status.StopSignal() == unix.SIGTRAP: // of tracing
		case status.StopSignal() == unix.SIGSTOP && !known[pid]: // its first stop
		default:
			pass = int(status.StopSignal())
		}
		if status.Stopped() {
			known[pid] = true
			if err := unix.PtraceSyscall(pid, pass); err != nil && !errors.Is(err, unix.ESRCH) {
				return 0, err
			}
		}
		for {
			pid, err = unix.Wait4(-1, &status, unix.WALL, nil)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		if errors.Is(err, unix.ECHILD) {
			return code, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// info is struct ptrace_syscall_info at the entry of a call.
type info struct {
	op     uint8
	_      [3]uint8
	arch   uint32
	_      [2]uint64
	number uint64
	args   [6]uint64
	_      uint64
}

const entry = 1 // PTRACE_SYSCALL_INFO_ENTRY

// note writes down the call that a thread is about to make.
func note(log *os.File, pid int) error {
	var i info
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(pid), unsafe.Sizeof(i), uintptr(unsafe.Pointer(&i)), 0, 0)
	if errno == unix.ESRCH {
		return nil // killed meanwhile
	}
	if errno != 0 {
		return fmt.Errorf("PTRACE_GET_SYSCALL_INFO: %w", errno)
	}
	if i.op != entry {
		return nil
	}
	c, ok := calls[i.number]
	text := c.name
	switch {
	case i.arch != native:
		text = fmt.Sprintf("call %d of another kind", i.number)
	case !ok || c.wanted != nil && !c.wanted(pid, &i.args):
		return nil
	}
	if i.arch == native {
		for _, about := range c.about {
			text += " " + about(pid, &i.args)
		}
	}
	_, err := fmt.Fprintf(log, "%d %s\n", pid, text)
	return err
}

func family(f uint16) string {
	if f == unix.AF_UNIX {
		return "unix"
	}
	return fmt.Sprint(f)
}

// address reads an address from the memory of the one who uses it.
func address(pid int, at, size uint64) string {
	b := make([]byte, min(size, unix.SizeofSockaddrUnix))
	n, err := unix.PtracePeekData(pid, uintptr(at), b)
	if err != nil || n < 2 {
		return fmt.Sprintf("unreadable: %v", err)
	}
	text := family(binary.NativeEndian.Uint16(b))
	if text == "unix" {
		path, _, _ := strings.Cut(string(b[2:n]), "\x00")
		text += " " + path
	}
	return text
}
