package apart_test

import "os"

// crashWord is what is said of crash.
const crashWord = "exit status 7"

// crash ends the process at once.
func crash() { os.Exit(7) }
