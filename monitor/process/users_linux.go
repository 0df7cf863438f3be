package process

import (
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"

	"nvtop-lite/monitor"
)

// passwd is C's struct passwd, the same on every Linux and with every C library.
// Its addresses are of C's making: the garbage collector must not see them.
type passwd struct {
	name, password    uintptr
	uid, gid          uint32
	gecos, dir, shell uintptr
}

const (
	firstRoom = 1 << 10
	mostRoom  = 1 << 20 // for one account
	maxTries  = 10      // of a call that a signal cuts short
)

// getpwuidR is looked up with the first question: nothing here may load or run
// anything in a program that only imports this package.
var getpwuidR = sync.OnceValues(func() (uintptr, error) {
	// The text of a failure belongs to the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(purego.RTLD_DEFAULT, "getpwuid_r")
})

// libcAccount asks the C library for the account of a number. It may block for
// as long as a module of the name service likes.
func libcAccount(uid uint32) (string, error) {
	call, err := getpwuidR()
	if err != nil {
		return "", err
	}
	room, tries := firstRoom, 0
	for {
		name, errno := getpwuid(call, uid, room)
		switch {
		case errno == 0 && name != "":
			return name, nil
		case errno == 0, errno == syscall.ENOENT, errno == syscall.ESRCH:
			return "", errNoAccount
		case errno == syscall.ERANGE && room < mostRoom:
			room *= 4
		case errno == syscall.EINTR && tries < maxTries:
			tries++
		default:
			return "", monitor.Errorf("getpwuid_r: %w", errno)
		}
	}
}

// getpwuid is one call with so much room for the texts of the account. No name
// and no error mean that there is none.
func getpwuid(call uintptr, uid uint32, room int) (string, syscall.Errno) {
	var (
		entry passwd
		found uintptr // the address of entry, 0 for none
		texts = make([]byte, room)
	)
	r, _, _ := purego.SyscallN(call, uintptr(uid), uintptr(unsafe.Pointer(&entry)),
		uintptr(unsafe.Pointer(&texts[0])), uintptr(room), uintptr(unsafe.Pointer(&found)))
	// The name usually lies in texts, but some modules give one of their own.
	name := ""
	if r == 0 && found != 0 && entry.name != 0 {
		name = cText(entry.name)
	}
	runtime.KeepAlive(texts)
	return name, syscall.Errno(int32(r))
}

// cText copies a C string, the first maxName bytes of it.
func cText(address uintptr) string {
	// In this form vet can tell that it is meant.
	start := *(*unsafe.Pointer)(unsafe.Pointer(&address))
	n := 0
	for n < maxName && *(*byte)(unsafe.Add(start, n)) != 0 {
		n++
	}
	return limit(strings.ToValidUTF8(string(unsafe.Slice((*byte)(start), n)), "\uFFFD"), maxName)
}
