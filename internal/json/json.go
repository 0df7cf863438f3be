// Package json writes and reads JSON by the types of Go, as encoding/json does,
// as far as the program needs it: that package makes the program 300 kB larger.
//
// It knows bools, numbers, strings, structs, slices and pointers, and interfaces
// that hold one of these; times (RFC 3339) and maps by strings, in the order of
// their keys, are only written. A field has the name of its tag, else its own; a
// tag "-" leaves it out, and the option omitempty leaves out nil pointers. A nil
// pointer, slice, map or interface is null, and so is a number that JSON has
// not. Unlike there, a list of bytes is a list of numbers, names are read as
// they are written, embedded fields are fields like any other, and what a
// terminal might obey is escaped.
package json

import (
	"math"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Appender is a type that writes itself.
type Appender interface {
	AppendJSON(dst []byte) []byte
}

// Append appends v to dst, on one line and without a line end. It panics where
// v holds what the package does not know, which is a mistake of the program.
func Append(dst []byte, v any) []byte {
	return appendValue(dst, reflect.ValueOf(v))
}

func appendValue(dst []byte, v reflect.Value) []byte {
	if !v.IsValid() {
		return append(dst, "null"...)
	}
	switch x := v.Interface().(type) {
	case Appender:
		return x.AppendJSON(dst)
	case Number:
		return append(dst, x...)
	}
	switch v.Kind() {
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(dst, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.AppendUint(dst, v.Uint(), 10)
	case reflect.Float64:
		return appendNumber(dst, v.Float())
	case reflect.String:
		return appendString(dst, v.String())
	case reflect.Slice:
		if v.IsNil() {
			return append(dst, "null"...)
		}
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, v.Index(i))
		}
		return append(dst, ']')
	case reflect.Map:
		return appendMap(dst, v)
	case reflect.Pointer, reflect.Interface:
		return appendValue(dst, v.Elem())
	case reflect.Struct:
		if t, ok := v.Interface().(time.Time); ok {
			return strconv.AppendQuote(dst, t.Format(time.RFC3339Nano))
		}
		return appendStruct(dst, v)
	}
	panic("json: no form for " + v.Type().String())
}

func appendMap(dst []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(dst, "null"...)
	}
	keys := v.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, key.String()), ':')
		dst = appendValue(dst, v.MapIndex(key))
	}
	return append(dst, '}')
}

func appendStruct(dst []byte, v reflect.Value) []byte {
	dst = append(dst, '{')
	first := true
	for i := range v.NumField() {
		name, omit := field(v.Type().Field(i))
		if name == "" || omit && v.Field(i).IsNil() {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, name), ':')
		dst = appendValue(dst, v.Field(i))
	}
	return append(dst, '}')
}

// field is how a field is called, "" where it is left out, and whether it is
// left out where it is nil.
func field(f reflect.StructField) (name string, omit bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case !f.IsExported() || name == "-":
		return "", false
	case name == "":
		name = f.Name
	}
	return name, options == "omitempty"
}

func appendNumber(dst []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...)
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'g'
	}
	return strconv.AppendFloat(dst, v, format, -1, 64)
}

const hexDigits = "0123456789abcdef"

// appendString appends s in quotes. Control characters of all kinds, the two
// that end lines in JavaScript and those that change the direction of text are
// escaped; an invalid byte becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x61c || r >= 0x200e && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			dst = append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
