package json

import (
	"bytes"
	std "encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

type word string

func (w word) AppendJSON(dst []byte) []byte {
	if w == "" {
		return append(dst, "null"...)
	}
	return Append(dst, string(w))
}

type inner struct {
	Name  string `json:"name"`
	Count *int   `json:"count"`
}

type outer struct {
	Flag   bool
	Int    int8    `json:"int"`
	Uint   uint64  `json:"uint"`
	Float  float64 `json:"float"`
	Text   string  `json:"text"`
	Took   time.Duration
	List   []inner `json:"list"`
	Few    []uint8
	One    *inner `json:"one,omitempty"`
	None   *inner
	Any    any
	Word   word   `json:"word"`
	Secret string `json:"-"`
	Hook   func() `json:"-"`
	hidden int
}

func TestAppend(t *testing.T) {
	seven := 7
	v := outer{
		Flag: true, Int: -8, Uint: math.MaxUint64, Float: 0.25, Text: "a \"b\" \\ \n\x1b\u2028\u202eü\xff€😀", Took: 3,
		List: []inner{{"x", &seven}, {}}, Few: []uint8{1, 2}, Any: []string{"<&>"}, Secret: "s", Hook: func() {}, hidden: 1,
	}
	want := `{"Flag":true,"int":-8,"uint":18446744073709551615,"float":0.25,` +
		`"text":"a \"b\" \\ \u000a\u001b\u2028\u202eü�€😀","Took":3,` +
		`"list":[{"name":"x","count":7},{"name":"","count":null}],"Few":[1,2],"None":null,"Any":["<&>"],"word":null}`
	if got := string(Append(nil, v)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	v = outer{Word: "w", One: &inner{}, Float: math.NaN(), Few: []uint8{}}
	want = `{"Flag":false,"int":0,"uint":0,"float":null,"text":"","Took":0,` +
		`"list":null,"Few":[],"one":{"name":"","count":null},"None":null,"Any":null,"word":"w"}`
	if got := string(Append([]byte("x"), &v)); got != "x"+want {
		t.Errorf("got  %s\nwant x%s", got, want)
	}
	m := map[string]any{"b": map[word]int{"y": 1, "x": 2}, "a": map[string]string{}, "c": map[string]bool(nil)}
	if got, want := string(Append(nil, m)), `{"a":{},"b":{"x":2,"y":1},"c":null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	if got := string(Append(nil, []any{at})); got != `["2026-01-02T03:04:05.0000006Z"]` {
		t.Errorf("a time is %s", got)
	}
	for v, want := range map[float64]string{0: "0", 1e-7: "1e-07", -1e20: "-100000000000000000000", 1e21: "1e+21", math.Inf(1): "null"} {
		if got := string(Append(nil, v)); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}

// What the program sends itself arrives as it was.
func TestUnmarshal(t *testing.T) {
	seven := 7
	v := outer{
		Flag: true, Int: -128, Uint: math.MaxUint64, Float: 1e300, Text: "a \"b\" \\/ \t\x00 ü €😀", Took: -3, Word: "w",
		List: []inner{{"x", &seven}, {}}, Few: []uint8{1, 2}, One: &inner{Name: "y"}, Any: "text",
	}
	var got outer
	if err := Unmarshal(Append(nil, v), &got); err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, v)
	}
	// As another program would write it; what has no field is passed over.
	text := ` { "list" : [ ] , "more":{"a":[1,{"b":null}]}, "Flag":false, "text":null, "One":3, "one": null,
		"int":127, "Hook":1, "-":2, "hidden":3, "word":"\u20ac\ud83d\ude00\ud83d\u0041\/" } `
	if err := Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	v.List, v.Flag, v.One, v.Int, v.Word = []inner{}, false, nil, 127, "€😀\ufffdA/"
	if !reflect.DeepEqual(got, v) {
		t.Errorf("got  %+v\nwant %+v", got, v)
	}
}

func TestRefused(t *testing.T) {
	for _, text := range []string{
		`{"int":128}`, `{"int":1.0}`, `{"int":"1"}`, `{"uint":-1}`, `{"uint":18446744073709551616}`, `{"float":1e999}`,
		`{"float":true}`, `{"Flag":0}`, `{"Flag":tru}`, `{"text":1}`, `{"text":[]}`, `{"list":{}}`, `{"list":[1]}`,
		`{"one":[]}`, `{"Few":[256]}`, `[]`, `1`, ``, `{`, `{}x`, `{},`, "{}\x00",
		`{"a":` + strings.Repeat("[", 1e6) + strings.Repeat("]", 1e6) + `}`,
	} {
		var v outer
		if err := Unmarshal([]byte(text), &v); err == nil {
			t.Errorf("%.40s: taken as %+v", text, v)
		}
	}
}

// FuzzUnmarshal compares with the standard library.
func FuzzUnmarshal(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-0.5e+7,true,false,null,"x\n\u00e4\ud83d\ude00\udc00"],"b":{}}`, ` [ ] `, `"\ud800\u0041"`, `01`, `-`, `1.`, `.5`, `1e`,
		`[1,]`, `{"a"}`, `{"a":1,}`, `{1:2}`, `nul`, `"a`, `"\x"`, `"\u12"`, "\"\x01\"", "\"\xff\"", `{"a":1,"a":2}`, "\ufeff1", "1\x00", "\x001", `[1 2]`, `{"a":1]`,
		`{"Flag":true,"int":5,"list":[{"name":"n","count":1}],"Few":[1],"one":{"name":"m"},"Any":[1]}`,
		`{"Flag":null,"int":null,"list":null,"one":null,"Any":null}`, `{"list":[null,{"count":null}]}`, `{"Any":"a","Any":null}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var got, want any
		d := std.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		wantErr := d.Decode(&want)
		if !std.Valid(b) {
			wantErr = std.Unmarshal(b, new(any))
		}
		err := Unmarshal(b, &got)
		if err != nil && bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) > maxDepth {
			return
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, there %v", b, err, wantErr)
		}
		if err != nil {
			return
		}
		var back any
		if err := Unmarshal(Append(nil, got), &back); err != nil || !reflect.DeepEqual(back, got) {
			t.Fatalf("%q: %v: %#v comes back as %#v", b, err, got, back)
		}
		if want = numbers(want); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %#v, there %#v", b, got, want)
		}
		var v outer
		if Unmarshal(b, &v) == nil {
			var again outer
			if err := Unmarshal(Append(nil, v), &again); err != nil {
				t.Fatalf("%q: %v", b, err)
			}
		}
		if text := Append(nil, v); !std.Valid(text) {
			t.Fatalf("%q: invalid: %s", b, text)
		}
	})
}

// numbers has this package's numbers in the place of the standard library's.
func numbers(v any) any {
	switch v := v.(type) {
	case std.Number:
		return Number(v)
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = numbers(v[key])
		}
	}
	return v
}
