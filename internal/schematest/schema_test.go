package schematest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"nvtop-lite/internal/kept"
)

const root = "../.."

// files are the schemas in docs by the word that an object has for "schema".
var files = map[string]string{
	"nvtop-lite/1":         "snapshot.schema.json",
	"nvtop-lite-doctor/1":  "doctor.schema.json",
	"nvtop-lite-summary/1": "summary.schema.json",
	"nvtop-lite-diff/1":    "diff.schema.json",
}

var compiled sync.Map // file → func() (*jsonschema.Schema, error)

func schema(file string) (*jsonschema.Schema, error) {
	once, _ := compiled.LoadOrStore(file, sync.OnceValues(func() (*jsonschema.Schema, error) {
		f, err := os.Open(filepath.Join(root, "docs", file))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		document, err := jsonschema.UnmarshalJSON(f)
		if err != nil {
			return nil, err
		}
		c := jsonschema.NewCompiler()
		c.DefaultDraft(jsonschema.Draft2020)
		c.AssertFormat()
		if err := c.AddResource(file, document); err != nil {
			return nil, err
		}
		return c.Compile(file)
	}))
	return once.(func() (*jsonschema.Schema, error))()
}

// check holds an object against the schema that it names.
func check(object any) error {
	m, _ := object.(map[string]any)
	word, _ := m["schema"].(string)
	file, ok := files[word]
	if !ok {
		return fmt.Errorf("no schema is called %q", word)
	}
	s, err := schema(file)
	if err != nil {
		return err
	}
	return s.Validate(object)
}

// checkLine holds one line of JSON against its schema.
func checkLine(line []byte) error {
	object, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		return err
	}
	return check(object)
}

// checkLines holds each of several lines against its schema, and returns how
// many there were.
func checkLines(t *testing.T, what string, text []byte) (n int) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		n++
		if err := checkLine(lines.Bytes()); err != nil {
			t.Errorf("%s, line %d: %v\n%.2000s", what, n, err, lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return n
}

// TestSchemas are schemas: of the draft that they name, and with a description
// for each key.
func TestSchemas(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.schema.json"))
	if err != nil || len(paths) < 2 {
		t.Fatalf("%v: %v", err, paths)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if _, err := schema(name); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var document map[string]any
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		if document["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
			t.Errorf("%s: $schema is %v", name, document["$schema"])
		}
		if !slices.Contains(slices.Collect(maps.Values(files)), name) {
			t.Errorf("%s: no output is held against it", name)
		}
		describes(t, name, document)
	}
}

// describes looks at each object of a schema that has a list of its keys.
func describes(t *testing.T, where string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		properties, _ := v["properties"].(map[string]any)
		if _, closed := v["additionalProperties"]; closed && properties != nil {
			for key, p := range properties {
				m, _ := p.(map[string]any)
				target, _ := m["$ref"].(string)
				if _, ok := m["description"]; !ok && target == "" {
					t.Errorf("%s: %s has no description", where, key)
				}
			}
		}
		for key, e := range v {
			describes(t, where+"/"+key, e)
		}
	case []any:
		for _, e := range v {
			describes(t, where, e)
		}
	}
}

// TestGoldenFiles of the repository fit their schemas.
func TestGoldenFiles(t *testing.T) {
	n := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.Type().IsRegular() || !strings.Contains(path, "testdata/") || filepath.Ext(path) != ".json":
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil || !bytes.Contains(text[:min(len(text), 100)], []byte(`"schema": "nvtop-lite`)) {
			return err
		}
		n++
		if err := checkLine(text); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil || n == 0 {
		t.Errorf("%v, %d files", err, n)
	}
}

// TestKept holds what other tests kept against its schema.
func TestKept(t *testing.T) {
	dir := os.Getenv(kept.Folder)
	if dir == "" {
		t.Skip(kept.Folder + " names no folder: scripts/test.sh schemas sets it")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "kept-*.ndjson"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%v: nothing was kept in %s", err, dir)
	}
	n := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n += checkLines(t, filepath.Base(path), text)
	}
	t.Logf("%d objects of %d test programs fit", n, len(paths))
}
