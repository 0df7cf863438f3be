package process

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

func newLooker(h *host.Reader) looker {
	if h.Root().Files() {
		return newTree(h)
	}
	return &tasks{owners: make(map[string]monitor.Text)}
}

// tasks looks processes up through handles with limited rights, which most
// processes grant to everyone.
type tasks struct {
	mu     sync.Mutex
	owners map[string]monitor.Text // by SID

	titles   map[uint32]string
	titlesAt time.Time
}

var (
	kernel32                 = windows.NewLazySystemDLL("kernel32.dll")
	procGetProcessMemoryInfo = kernel32.NewProc("K32GetProcessMemoryInfo")
)

func open(pid uint32) (windows.Handle, error) {
	if pid == 0 {
		return 0, fs.ErrNotExist
	}
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		err = fs.ErrNotExist // its way of saying that there is none
	}
	return h, err
}

func (t *tasks) sample(pid uint32, _ *sample, _ int64) (sample, error) {
	h, err := open(pid)
	if err != nil {
		return sample{}, err
	}
	defer windows.CloseHandle(h)
	s, err := times(h)
	if err != nil {
		return sample{}, err
	}
	s.memory = workingSet(h)
	return s, nil
}

// times reads start and CPU time. The start is told in µs since 1970, which
// leaves it exact in JSON; with the PID it is as good an identity as ticks.
func times(h windows.Handle) (sample, error) {
	var created, exited, kernel, user windows.Filetime // exited means nothing while it runs
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return sample{}, err
	}
	start := created.Nanoseconds()
	return sample{
		start:     uint64(max(start, 0) / 1000),
		startTime: start,
		cpu:       span(kernel) + span(user),
	}, nil
}

func span(t windows.Filetime) time.Duration {
	return time.Duration(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) * 100
}

// processMemoryCounters is PROCESS_MEMORY_COUNTERS.
type processMemoryCounters struct {
	size, pageFaults              uint32
	peakWorkingSet, workingSet    uintptr
	pagedPoolPeak, pagedPool      uintptr
	nonPagedPoolPeak, nonPaged    uintptr
	pagefileUsage, peakPagefileUs uintptr
}

func workingSet(h windows.Handle) monitor.Reading {
	if procGetProcessMemoryInfo.Find() != nil {
		return monitor.Unknown(monitor.NotSupported)
	}
	var m processMemoryCounters
	m.size = uint32(unsafe.Sizeof(m))
	ok, _, err := procGetProcessMemoryInfo.Call(uintptr(h), uintptr(unsafe.Pointer(&m)), uintptr(m.size))
	if ok == 0 {
		return monitor.Unknown(host.Reason(err))
	}
	return monitor.OfUint(uint64(m.workingSet))
}

func (t *tasks) describe(pid uint32, s sample) (facts, bool) {
	h, err := open(pid)
	if err != nil {
		return facts{}, false
	}
	defer windows.CloseHandle(h)
	// The handle pins the process: one look at its start is enough.
	if now, err := times(h); err != nil || now.start != s.start {
		return facts{}, false
	}
	f := facts{
		user: t.owner(h),
		// Neither is looked for on Windows.
		container: monitor.Container{Reason: monitor.NotSupported},
		unit:      monitor.UnknownText(monitor.NotSupported),
		job:       monitor.Job{Reason: monitor.NotSupported},
		holds:     holdingUnreadable,
	}
	image, imageErr := imageName(h)
	line, err := commandLine(h)
	if err != nil {
		f.command = monitor.UnknownText(host.Reason(err))
	} else if line == "" {
		f.command = monitor.UnknownText(monitor.NotFound)
	} else {
		f.command = monitor.OfText(limit(line, maxCommand))
	}
	name := ""
	if args, err := windows.DecomposeCommandLine(line); err == nil && line != "" {
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], `\`, "/")
		}
		// The program's own path may have blanks: its name tells that it is no
		// title.
		name = nameOf(args, filepath.Base(image))
	}
	if name == "" && imageErr == nil {
		name = filepath.Base(image)
	}
	switch {
	case name != "":
		f.name = monitor.OfText(limit(name, maxName))
	case imageErr != nil:
		f.name = monitor.UnknownText(host.Reason(imageErr))
	default:
		f.name = monitor.UnknownText(monitor.NotFound)
	}
	return f, true
}

func imageName(h windows.Handle) (string, error) {
	buf := make([]uint16, 1024)
	n := uint32(len(buf))
	if err := windows.QueryFullProcessImageName(h, 0, &buf[0], &n); err != nil {
		return "", err
	}
	return windows.UTF16ToString(buf[:n]), nil
}

// commandLine asks for ProcessCommandLineInformation, which limited rights
// suffice for (Windows 8.1 and later). The answer is a UNICODE_STRING with its
// text behind it.
func commandLine(h windows.Handle) (string, error) {
	size := uint32(4 << 10)
	for range 4 {
		// Words of 8 bytes, since the buffer begins with a structure.
		buf := make([]uint64, (size+7)/8)
		err := windows.NtQueryInformationProcess(h, windows.ProcessCommandLineInformation, unsafe.Pointer(&buf[0]), uint32(len(buf)*8), &size)
		if errors.Is(err, windows.STATUS_INFO_LENGTH_MISMATCH) || errors.Is(err, windows.STATUS_BUFFER_OVERFLOW) || errors.Is(err, windows.STATUS_BUFFER_TOO_SMALL) {
			if size <= uint32(len(buf)*8) || size > 1<<20 {
				size = min(uint32(len(buf)*16), 1<<20)
			}
			continue
		}
		if errors.Is(err, windows.STATUS_INVALID_INFO_CLASS) || errors.Is(err, windows.STATUS_NOT_IMPLEMENTED) {
			return "", errors.ErrUnsupported
		}
		if errors.Is(err, windows.STATUS_ACCESS_DENIED) {
			return "", fs.ErrPermission
		}
		if err != nil {
			return "", err
		}
		u := (*windows.NTUnicodeString)(unsafe.Pointer(&buf[0]))
		if u.Buffer == nil || u.Length == 0 {
			return "", nil
		}
		line := strings.ToValidUTF8(windows.UTF16ToString(unsafe.Slice(u.Buffer, u.Length/2)), "\uFFFD")
		return strings.TrimRight(line, " "), nil
	}
	return "", errors.ErrUnsupported
}

// owner names the account of a process. Names are remembered: a domain's
// controller may be far away.
func (t *tasks) owner(h windows.Handle) monitor.Text {
	var token windows.Token
	if err := windows.OpenProcessToken(h, windows.TOKEN_QUERY, &token); err != nil {
		return monitor.UnknownText(host.Reason(err))
	}
	defer token.Close()
	user, err := token.GetTokenUser()
	if err != nil {
		return monitor.UnknownText(host.Reason(err))
	}
	sid := user.User.Sid
	key := sid.String()
	t.mu.Lock()
	name, ok := t.owners[key]
	t.mu.Unlock()
	if ok {
		return name
	}
	account, _, _, err := sid.LookupAccount("")
	if err != nil {
		account = key // as a number stands for an account without a name
	}
	name = monitor.OfText(limit(account, maxName))
	t.mu.Lock()
	t.owners[key] = name
	t.mu.Unlock()
	return name
}

// judge has no namespaces to look at: a PID is a PID.
func (t *tasks) judge(holding) verdict { return verdict{monitor.NamespaceSame, monitor.Known} }

func (t *tasks) absent(_ uint32, err error) verdict {
	v := verdict{why: host.Reason(err)}
	if v.why == monitor.NoPermission {
		v.namespace = monitor.NamespaceSame
	}
	return v
}

// title finds the program's name in the list of all processes, which needs no
// rights: the window manager and the like cannot be opened.
func (t *tasks) title(pid uint32) string {
	if t.titlesAt.IsZero() || time.Since(t.titlesAt) > time.Second {
		t.titles, t.titlesAt = allTitles(), time.Now()
	}
	return t.titles[pid]
}

func allTitles() map[uint32]string {
	titles := make(map[uint32]string)
	list, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return titles
	}
	defer windows.CloseHandle(list)
	e := windows.ProcessEntry32{}
	e.Size = uint32(unsafe.Sizeof(e))
	for err = windows.Process32First(list, &e); err == nil; err = windows.Process32Next(list, &e) {
		if e.ProcessID != 0 {
			titles[e.ProcessID] = limit(windows.UTF16ToString(e.ExeFile[:]), maxName)
		}
	}
	return titles
}
