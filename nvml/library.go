package nvml

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"nvtop-lite/nvml/gen"
)

// Options says how Open finds and initialises NVML. The zero value is right for
// most programs.
type Options struct {
	// Path names the library to use, and no other is tried. Where it is empty
	// the places where drivers install it are searched.
	Path string
	// Trace watches every call into the C library. nil costs nothing.
	Trace Tracer
	// Resolver supplies the addresses of the C functions in place of a
	// library: a stand-in for tests and simulators. No library is loaded
	// then; Path is only the name that Library.Path gives.
	Resolver gen.Resolver
	// Flags are passed to nvmlInitWithFlags: NVML_INIT_FLAG_NO_GPUS and its
	// like in nvml/gen. With 0, or where the library does not have that
	// function, nvmlInit_v2 is called.
	Flags uint32
}

// Library is an initialised NVML. It is safe for concurrent use. One that Open did
// not return, nil included, answers [ErrUninitialized].
type Library struct {
	eng    *engine
	tracer Tracer
	tried  []Attempt
	closed atomic.Bool

	// oldHandles says that the first versions of count and handle are used.
	// They are never mixed with the second ones, since their numbering differs.
	oldHandles atomic.Bool

	mu      sync.Mutex
	devices map[gen.Device_t]*device
	version string // of the driver, for the field numbers; "" until asked
}

// engine is one loaded C library. All Libraries that were opened on it share it.
type engine struct {
	table   *gen.Table
	resolve gen.Resolver
	name    string // what the loader was given
	path    string // the file, as far as it is known

	inflight atomic.Int64 // methods that are running
	due      atomic.Int64 // calls of nvmlShutdown that are due
	mu       sync.Mutex
	closing  []*Library // whose they are

	// strides has the measured length of a process list entry for each
	// function that fills such a list, 0 where nothing was measured.
	strides [numListFunctions]atomic.Uint32

	// gpm guards the first GPM sample of each device: such samples must not
	// be taken at the same time.
	gpm gpmGuard
}

// Open finds an NVML library, loads and initialises it. Where one cannot be
// loaded or refuses to initialise, the next is tried; the [*OpenError] lists
// them all.
//
// Open may be called more than once. Each Library is closed by itself, and NVML
// is shut down with the last of them.
//
// Initialising does not wake up GPUs, but as root it may create device nodes
// under /dev where no driver is loaded.
func Open(o Options) (*Library, error) {
	if o.Resolver != nil {
		name := o.Path
		if name == "" {
			name = "(resolver)"
		}
		l := newLibrary(&engine{table: (*gen.Table)(gen.New(o.Resolver)), resolve: o.Resolver, name: name, path: name}, o)
		if err := l.init(o.Flags); err != nil {
			return nil, &OpenError{Attempts: []Attempt{{Path: name, Err: err}}}
		}
		return l, nil
	}
	failed := &OpenError{}
	seen := map[*engine]string{}
	for _, path := range search(o.Path) {
		attempt := Attempt{Path: path}
		eng, err := loadEngine(path)
		if err == nil {
			attempt.File = eng.path
			if first, again := seen[eng]; again {
				err = sameLibrary(first)
			} else {
				seen[eng] = path
				l := newLibrary(eng, o)
				if err = l.init(o.Flags); err == nil {
					l.tried = append(failed.Attempts, attempt)
					return l, nil
				}
			}
		}
		attempt.Err = err
		failed.Attempts = append(failed.Attempts, attempt)
	}
	failed.Hint = openHint(len(seen) > 0)
	return nil, failed
}

// search lists the libraries to try, in order: all, or the one that was asked
// for. Tests replace it.
var search = searchPath

// sameLibrary is the answer of a path that leads to a library tried before.
type sameLibrary string

func (s sameLibrary) Error() string { return "is the same library as " + string(s) }

func newLibrary(eng *engine, o Options) *Library {
	return &Library{eng: eng, tracer: o.Trace, devices: map[gen.Device_t]*device{}}
}

// init calls the initialisation functions, newest first.
func (l *Library) init(flags uint32) error {
	f, err := l.enter(nil, nil, gen.FnInit_v2)
	if err != nil {
		return err
	}
	defer f.leave()
	place := 0
	if flags != 0 {
		if f.begin(gen.FnInitWithFlags, place) {
			return f.fail(gen.FnInitWithFlags, f.end(f.raw().InitWithFlags(f.c, flags)))
		}
		place++
	}
	if f.begin(gen.FnInit_v2, place) {
		return f.fail(gen.FnInit_v2, f.end(f.raw().Init_v2(f.c)))
	}
	if f.begin(gen.FnInit, place+1) {
		return f.fail(gen.FnInit, f.end(f.raw().Init(f.c)))
	}
	return f.fail(gen.FnInit_v2, ErrFunctionNotFound)
}

// Close ends the use of NVML through this Library: all later calls return
// [ErrUninitialized]. It never waits. nvmlShutdown, which may take a while, is
// called in the background, and only once no call is in flight any more; with a
// call that hangs for ever it is left out. The C library stays loaded until the
// program ends. A second Close returns ErrUninitialized and does nothing.
func (l *Library) Close() error {
	e := l.engine()
	if e == noEngine {
		return uninitialized(gen.FnShutdown, -1, "the library was not opened")
	}
	if l.closed.Swap(true) {
		return uninitialized(gen.FnShutdown, -1, "the library was closed")
	}
	e.inflight.Add(1) // so that leave looks after it
	e.mu.Lock()
	e.closing = append(e.closing, l)
	e.due.Add(1)
	e.mu.Unlock()
	e.leave()
	return nil
}

// noEngine is that of a Library which Open did not return.
var noEngine = &engine{table: (*gen.Table)(gen.New(noFunction)), resolve: noFunction}

func noFunction(string) uintptr { return 0 }

func (l *Library) engine() *engine {
	if l == nil || l.eng == nil {
		return noEngine
	}
	return l.eng
}

func uninitialized(fn gen.Function, device int, why string) error {
	return &Error{Function: fn.String(), Device: device, Return: ErrUninitialized, Detail: why}
}

// leave ends a method that enter counted. The last one makes up for the calls
// of nvmlShutdown that were left out meanwhile.
func (e *engine) leave() {
	if e.inflight.Add(-1) != 0 || e.due.Load() == 0 {
		return
	}
	e.mu.Lock()
	list := e.closing
	e.closing = nil
	e.due.Add(-int64(len(list)))
	e.mu.Unlock()
	if len(list) == 0 {
		return
	}
	go func() {
		for _, l := range list {
			f := newFrame()
			f.lib, f.table = l, e.table
			if f.begin(gen.FnShutdown, 0) {
				f.end(f.raw().Shutdown(f.c))
			}
		}
	}()
}

// Path returns the path of the library.
func (l *Library) Path() string { return l.engine().path }

// Attempts lists the libraries that Open tried, in the order of the search. The
// last one is that of l. Where there was no search the list is empty.
func (l *Library) Attempts() []Attempt {
	if l == nil {
		return nil
	}
	return slices.Clone(l.tried)
}

// Raw gives the table of C functions under l, for those that have no method
// here. The rules of package gen apply: errors are plain codes, versions and
// sizes are the caller's business, and l must not be closed during a call.
func (l *Library) Raw() *gen.Library { return (*gen.Library)(l.engine().table) }

// Has reports whether the loaded library has the C function.
func (l *Library) Has(fn gen.Function) bool { return l.Raw().Has(fn) }

// lookup returns the address of a C function that the header behind gen does
// not have any more, 0 where the library does not have it either.
func (e *engine) lookup(name string) uintptr { return e.resolve(name) }

var engines struct {
	sync.Mutex
	byHandle map[uintptr]*engine // libraries that were loaded, never unloaded
}

// loadEngine loads the library at path. A library that was loaded before keeps
// its engine.
func loadEngine(path string) (*engine, error) {
	engines.Lock()
	defer engines.Unlock()
	if path == bareName && len(engines.byHandle) > 0 {
		// The loader would hand out the library that is loaded already,
		// whatever file the bare name leads to.
		usable := false
		for _, e := range engines.byHandle {
			usable = usable || e.name == bareName
		}
		if !usable {
			return nil, errNotAgain
		}
	}
	loading.Store(&path)
	defer loading.Store(nil)
	handle, err := loadFile(path)
	if err != nil {
		if isAbsent(path, err) {
			err = absent{err}
		}
		return nil, err
	}
	if e := engines.byHandle[handle]; e != nil {
		return e, nil
	}
	if engines.byHandle == nil {
		engines.byHandle = map[uintptr]*engine{}
	}
	resolve := func(name string) uintptr { return symbol(handle, name) }
	e := &engine{table: (*gen.Table)(gen.New(resolve)), resolve: resolve, name: path, path: path}
	if path == bareName {
		e.path = fileOf(resolve(gen.FnInit_v2.String()), path)
	}
	engines.byHandle[handle] = e
	return e, nil
}

// loading is the path of the library that is being loaded.
var loading atomic.Pointer[string]

// Loading returns the path of the library that is being loaded, or looked for by
// that name; "" where none is. Loading may never return, as where the file lies on
// a network file system whose server is away.
func Loading() string {
	if path := loading.Load(); path != nil {
		return *path
	}
	return ""
}

// noLibrary are the kinds of files that no loader loads. Opening some of them
// would wait for somebody else.
const noLibrary = os.ModeDir | os.ModeNamedPipe | os.ModeSocket | os.ModeDevice

// loadFile loads a library, unless its kind tells that it is none.
func loadFile(path string) (uintptr, error) {
	if path != bareName {
		if info, err := os.Stat(path); err == nil && info.Mode()&noLibrary != 0 {
			return 0, loadError("is a folder, a pipe, a socket or a device")
		}
	}
	return load(path)
}

// absent is what the loader says of a file that is not there.
type absent struct{ error }

func (absent) Is(target error) bool { return target == fs.ErrNotExist }

// isAbsent tells a library that is not there from one that cannot be loaded,
// perhaps for want of another file.
func isAbsent(path string, err error) bool {
	if path == bareName { // the loader looked in places of its own
		text := err.Error()
		return strings.Contains(text, bareName) && strings.HasSuffix(text, "No such file or directory")
	}
	_, err = os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

type loadError string

func (e loadError) Error() string { return string(e) }

const errNotAgain = loadError("not tried: the loader would give the library that is loaded already")

// address returns the address of p, which must be on the heap and pinned.
func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// Loadable reports whether Open would find a library to load. It loads one, as
// Open does, and calls no function of it. The list is that of
// [Library.Attempts]; the error is an [*OpenError].
func Loadable(path string) ([]Attempt, error) {
	failed := &OpenError{}
	for _, path := range searchPath(path) {
		eng, err := loadEngine(path)
		if err == nil {
			return append(failed.Attempts, Attempt{Path: path, File: eng.path}), nil
		}
		failed.Attempts = append(failed.Attempts, Attempt{Path: path, Err: err})
	}
	failed.Hint = openHint(false)
	return nil, failed
}
