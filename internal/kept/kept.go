// Package kept keeps the JSON that tests make, so that part schemas of
// scripts/test.sh can hold it against the schemas in docs.
package kept

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Folder is the variable that names the folder in which JSON is kept. While it
// is not set nothing is.
const Folder = "NVTOP_LITE_KEPT_JSON"

var (
	mu   sync.Mutex
	file *os.File
	seen = map[string]bool{}
)

// Keep keeps the JSON objects in what the program wrote, which stand on a line
// each; what else there is it passes over. What has nothing new for a schema is
// not kept, neither whole objects nor GPUs of them: all in it has the keys of what
// came before it, and each value is of the kind of one that had the same reason.
func Keep(text []byte) {
	dir := os.Getenv(Folder)
	if dir == "" {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if !bytes.HasPrefix(line, []byte(`{"schema":"`)) || !bytes.HasSuffix(line, []byte("}")) {
			continue
		}
		var o map[string]any
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&o); err != nil {
			write(dir, line) // it fits none
			continue
		}
		var fresh []any
		gpus, listed := o["gpus"].([]any)
		for _, e := range gpus {
			if g, ok := e.(map[string]any); !ok || isNew("gpus", "", g, nil) {
				fresh = append(fresh, e)
			}
		}
		if isNew(fmt.Sprint(o["schema"]), "", o, nil) || fresh != nil {
			if listed {
				o["gpus"] = append([]any{}, fresh...)
			}
			b, err := json.Marshal(o)
			if err != nil {
				panic(err)
			}
			write(dir, b)
		}
	}
}

func write(dir string, line []byte) {
	if file == nil {
		var err error
		name := filepath.Join(dir, "kept-"+strconv.Itoa(os.Getpid())+".ndjson")
		if file, err = os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err != nil {
			panic(err)
		}
	}
	if _, err := file.Write(append(line[:len(line):len(line)], '\n')); err != nil {
		panic(err)
	}
}

// isNew notes what there is in an object that stands under a key, and reports
// whether some of it was not there before. The reasons for its nulls stand in
// why, behind prefix, where it has none itself.
func isNew(under, prefix string, o, why map[string]any) (found bool) {
	note := func(parts ...any) {
		if s := fmt.Sprint(parts...); !seen[s] {
			seen[s], found = true, true
		}
	}
	if own, ok := o["unavailable"].(map[string]any); ok {
		prefix, why = "", own
	}
	keys := slices.Sorted(maps.Keys(o))
	switch under {
	case "ages", "unavailable", "errors", "provenance": // which have the keys that they need
	default:
		note(under, keys)
	}
	failed, _ := o["errors"].(map[string]any)
	for _, key := range keys {
		v := o[key]
		note(under, ".", key, kind(v), why[prefix+key], failed[key] != nil)
		switch v := v.(type) {
		case map[string]any:
			found = isNew(key, prefix+key+".", v, why) || found
		case []any:
			for i, e := range v {
				if m, ok := e.(map[string]any); ok {
					found = isNew(key, fmt.Sprintf("%s[%d].", key, i), m, why) || found
				} else {
					note(under, ".", key, "[]", kind(e))
				}
			}
		}
	}
	// Rules that are about several keys.
	note(under, kind(o["processes"]), o["processes_state"], kind(o["processes_age_seconds"]))
	note(under, o["call"] == nil, o["call_seconds"] == nil, o["answer"] == nil, o["microseconds"] == nil, o["name"] == nil, o["code"] == nil)
	note(under, o["kind"], len(why))
	return found
}

// kind is what a schema may see of a value.
func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case json.Number:
		return "number " + digits(v.String())
	case string:
		if len(v) > 40 || strings.ContainsAny(v, " /") || strings.Contains(v, "G-") || strings.Contains(v, "U-") {
			return "text" // such as a UUID
		}
		return "word " + digits(v)
	case []any:
		return "list " + strconv.Itoa(min(len(v), 1))
	}
	return fmt.Sprintf("%T", v)
}

// digits makes one 0 of each row of digits.
func digits(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < '0' || c > '9':
			b.WriteByte(c)
		case i == 0 || s[i-1] < '0' || s[i-1] > '9':
			b.WriteByte('0')
		}
	}
	return b.String()
}
