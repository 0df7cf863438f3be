package json

import (
	"fmt"
	"reflect"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Number is a number as it was written, where it is read into an interface.
type Number string

// maxDepth bounds how deep objects and lists may be nested.
const maxDepth = 200

// Unmarshal reads b, one value and nothing behind it, into what v points to.
// Keys without a field are passed over, fields without a key stay as they are,
// and null makes pointers, slices and interfaces nil and leaves the rest. Into
// an interface it reads map[string]any, []any, string, [Number], bool or nil.
// After an error v may hold a part.
func Unmarshal(b []byte, v any) error {
	d := decoder{b: b}
	d.value(reflect.ValueOf(v).Elem())
	if d.err == nil && d.peek() != 0 {
		d.fail("text behind the value")
	}
	return d.err
}

// decoder reads from b at i. After an error it stands at the end, where all
// loops end.
type decoder struct {
	b     []byte
	i     int
	depth int
	err   error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("JSON: %s at byte %d", what, d.i)
	}
	d.i = len(d.b)
}

// peek skips white space and returns the byte behind it, 0 at the end.
func (d *decoder) peek() byte {
	for ; d.i < len(d.b); d.i++ {
		switch c := d.b[d.i]; c {
		case ' ', '\t', '\n', '\r':
		case 0:
			d.fail("a zero byte")
			return 0
		default:
			return c
		}
	}
	return 0
}

// took skips c if it comes next.
func (d *decoder) took(c byte) bool {
	if d.peek() != c {
		return false
	}
	d.i++
	return true
}

func (d *decoder) need(c byte) {
	if !d.took(c) {
		d.fail("no " + string(rune(c)))
	}
}

// each reads the members of an object or list up to its last bracket.
func (d *decoder) each(last byte, member func()) {
	d.i++
	if d.depth++; d.depth > maxDepth {
		d.fail("nested too deep")
	}
	if !d.took(last) {
		member()
		for d.took(',') {
			member()
		}
		d.need(last)
	}
	d.depth--
}

// key reads a key and its colon.
func (d *decoder) key() string {
	if d.peek() != '"' {
		d.fail("no key")
	}
	key := d.text()
	d.need(':')
	return key
}

// value reads the next value into v.
func (d *decoder) value(v reflect.Value) {
	c := d.peek()
	kind := v.Kind()
	if c == 'n' {
		d.word("null")
		if kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Interface {
			v.SetZero()
		}
		return
	}
	switch kind {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.value(v.Elem())
	case reflect.Interface:
		if x := d.any(); x != nil {
			v.Set(reflect.ValueOf(x))
		}
	case reflect.Bool:
		v.SetBool(d.bool())
	case reflect.String:
		v.SetString(d.text())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(d.number(), 10, v.Type().Bits())
		if err != nil {
			d.fail("no such integer")
		}
		v.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(d.number(), 10, v.Type().Bits())
		if err != nil {
			d.fail("no such integer")
		}
		v.SetUint(n)
	case reflect.Float64:
		n, err := strconv.ParseFloat(d.number(), 64)
		if err != nil {
			d.fail("no such number")
		}
		v.SetFloat(n)
	case reflect.Slice:
		d.slice(v)
	case reflect.Struct:
		d.object(v)
	default:
		panic("json: no form for " + v.Type().String())
	}
}

func (d *decoder) slice(v reflect.Value) {
	if d.peek() != '[' {
		d.fail("no list")
		return
	}
	list := reflect.MakeSlice(v.Type(), 0, 0)
	d.each(']', func() {
		list = reflect.Append(list, reflect.Zero(v.Type().Elem()))
		d.value(list.Index(list.Len() - 1))
	})
	v.Set(list)
}

func (d *decoder) object(v reflect.Value) {
	if d.peek() != '{' {
		d.fail("no object")
		return
	}
	d.each('}', func() {
		key := d.key()
		for i := range v.NumField() {
			if name, _ := field(v.Type().Field(i)); name == key && name != "" {
				d.value(v.Field(i))
				return
			}
		}
		d.any()
	})
}

// any reads the next value, whatever it is.
func (d *decoder) any() any {
	switch d.peek() {
	case '{':
		object := map[string]any{}
		d.each('}', func() {
			key := d.key()
			object[key] = d.any()
		})
		return object
	case '[':
		list := []any{}
		d.each(']', func() { list = append(list, d.any()) })
		return list
	case '"':
		return d.text()
	case 't', 'f':
		return d.bool()
	case 'n':
		d.word("null")
		return nil
	}
	return Number(d.number())
}

func (d *decoder) bool() bool {
	if d.peek() == 't' {
		d.word("true")
		return true
	}
	d.word("false")
	return false
}

func (d *decoder) word(w string) {
	if rest := d.b[d.i:]; len(rest) < len(w) || string(rest[:len(w)]) != w {
		d.fail("no " + w)
		return
	}
	d.i += len(w)
}

// number reads a number as it is written.
func (d *decoder) number() string {
	d.peek()
	from := d.i
	d.skip('-')
	if !d.skip('0') {
		d.digits()
	}
	if d.skip('.') {
		d.digits()
	}
	if d.skip('e') || d.skip('E') {
		if !d.skip('+') {
			d.skip('-')
		}
		d.digits()
	}
	if d.err != nil {
		return ""
	}
	return string(d.b[from:d.i])
}

// skip is took without white space.
func (d *decoder) skip(c byte) bool {
	if d.i < len(d.b) && d.b[d.i] == c {
		d.i++
		return true
	}
	return false
}

// digits skips one digit or more.
func (d *decoder) digits() {
	from := d.i
	for d.i < len(d.b) && d.b[d.i] >= '0' && d.b[d.i] <= '9' {
		d.i++
	}
	if d.i == from {
		d.fail("no digit")
	}
}

// text reads a string. What is no Unicode becomes U+FFFD.
func (d *decoder) text() string {
	d.need('"')
	from := d.i
	for d.i < len(d.b) && d.b[d.i] != '"' && d.b[d.i] != '\\' && d.b[d.i] >= ' ' && d.b[d.i] < utf8.RuneSelf {
		d.i++
	}
	if d.skip('"') {
		return string(d.b[from : d.i-1])
	}
	text := append([]byte(nil), d.b[from:d.i]...)
	for d.i < len(d.b) {
		switch c := d.b[d.i]; {
		case c == '"':
			d.i++
			return string(text)
		case c < ' ':
			d.fail("a control character")
		case c == '\\':
			text = d.escape(text)
		default:
			r, n := utf8.DecodeRune(d.b[d.i:])
			text = utf8.AppendRune(text, r)
			d.i += n
		}
	}
	d.fail("no end of a string")
	return ""
}

// escape appends the character that an escape stands for.
func (d *decoder) escape(text []byte) []byte {
	if len(d.b) < d.i+2 {
		d.fail("no end of a string")
		return text
	}
	c := d.b[d.i+1]
	d.i += 2
	switch c {
	case '"', '\\', '/':
		return append(text, c)
	case 'b':
		return append(text, '\b')
	case 'f':
		return append(text, '\f')
	case 'n':
		return append(text, '\n')
	case 'r':
		return append(text, '\r')
	case 't':
		return append(text, '\t')
	case 'u':
		r := d.hex(d.i)
		if r < 0 {
			d.fail("no escape")
			return text
		}
		d.i += 4
		if utf16.IsSurrogate(r) {
			if d.i+1 < len(d.b) && d.b[d.i] == '\\' && d.b[d.i+1] == 'u' {
				if pair := utf16.DecodeRune(r, d.hex(d.i+2)); pair != utf8.RuneError {
					d.i += 6
					return utf8.AppendRune(text, pair)
				}
			}
			r = utf8.RuneError
		}
		return utf8.AppendRune(text, r)
	}
	d.fail("no escape")
	return text
}

// hex reads four hexadecimal digits at i; -1 says that they are not there.
func (d *decoder) hex(i int) (r rune) {
	if len(d.b) < i+4 {
		return -1
	}
	for _, c := range d.b[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
