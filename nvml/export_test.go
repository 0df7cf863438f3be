package nvml

// Entries of lists of processes, for tests and fuzzing.
var (
	InTestStride    = stride
	InTestEntry     = entry
	InTestPlausible = plausible
	InTestRoomFor   = roomFor
)

// InTestSentinel is what buffers of such lists are filled with.
const InTestSentinel = sentinel

// InTestNumber is the number of a field in a driver.
func InTestNumber(id FieldID, major, minor int) uint32 { return id.number(major, minor) }

// InTestSearchPath is the order in which libraries are tried.
var InTestSearchPath = searchPath

// InTestSearch replaces the search for libraries, and returns what undoes it.
func InTestSearch(list ...string) (undo func()) {
	was := search
	search = func(string) []string { return list }
	return func() { search = was }
}
