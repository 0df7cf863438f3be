package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"modernc.org/cc/v4"
)

// maxParams is the number of argument slots of a call frame.
const maxParams = 6

// converter turns one target's syntax tree into a Model and collects what
// cannot be represented.
type converter struct {
	ast    *cc.AST
	header []string // lines
	m      *Model
	canon  map[any]string    // identity of a record or enum -> C name that stands for it
	alias  map[string]string // typedef name -> C name that stands for it
	rec    map[string]*Record
	errs   []error
}

func (c *converter) refuse(decl, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: %s", decl, fmt.Sprintf(format, args...)))
}

var versionLine = regexp.MustCompile(`NVML VERSION: *([0-9.]+)`)
var versioned = regexp.MustCompile(`_v[0-9]+_t$`)

// convert builds the model of one target.
func convert(t target, header []byte) (*Model, error) {
	ast, err := parse(t, header)
	if err != nil {
		return nil, err
	}
	c := &converter{
		ast:    ast,
		header: strings.Split(string(header), "\n"),
		m:      &Model{Target: t, Typedefs: map[string]int{}},
		canon:  map[any]string{},
		alias:  map[string]string{},
		rec:    map[string]*Record{},
	}
	if v := versionLine.FindStringSubmatch(c.header[0]); v != nil {
		c.m.Version = v[1]
	}
	var typedefs, funcs []*cc.Declarator
	for _, nodes := range ast.Scope.Nodes {
		for _, n := range nodes {
			d, ok := n.(*cc.Declarator)
			if !ok || d.Position().Filename != headerName {
				continue
			}
			switch {
			case d.IsTypename():
				typedefs = append(typedefs, d)
			case d.Type().Kind() == cc.Function:
				funcs = append(funcs, d)
			default:
				c.refuse(d.Name(), "a variable, only functions and types can be bound")
			}
		}
	}
	byPosition(typedefs)
	sort.Slice(funcs, func(i, j int) bool { return funcs[i].Name() < funcs[j].Name() })
	c.names(typedefs)
	for _, d := range typedefs {
		c.typedef(d)
	}
	for i, d := range funcs {
		if i > 0 && funcs[i-1].Name() == d.Name() {
			continue // declared twice
		}
		c.function(d)
	}
	c.macros()
	return c.m, errors.Join(c.errs...)
}

func byPosition(ds []*cc.Declarator) {
	sort.Slice(ds, func(i, j int) bool {
		a, b := ds[i].Position(), ds[j].Position()
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
}

// identity returns a value that all typedefs of one record or enumeration
// share: the parser copies the type for each, but not its members.
func identity(t cc.Type) any {
	switch t := t.(type) {
	case *cc.StructType:
		if t.NumFields() > 0 {
			return t.FieldByIndex(0)
		}
	case *cc.UnionType:
		if t.NumFields() > 0 {
			return t.FieldByIndex(0)
		}
	case *cc.EnumType:
		if e := t.Enumerators(); len(e) > 0 {
			return e[0]
		}
	}
	return nil
}

// names chooses, among the typedefs of one type, the name that stands for it:
// the first one with a version suffix, since the others move from version to
// version between headers, else the first.
func (c *converter) names(typedefs []*cc.Declarator) {
	for _, d := range typedefs {
		id := identity(d.Type())
		if id == nil {
			continue
		}
		old, ok := c.canon[id]
		if !ok || !versioned.MatchString(old) && versioned.MatchString(d.Name()) {
			c.canon[id] = d.Name()
		}
	}
	for _, d := range typedefs {
		if id := identity(d.Type()); id != nil {
			c.alias[d.Name()] = c.canon[id]
		}
	}
}

// typedef adds one typedef to the model. A type whose standing name comes
// later is defined at its first typedef, under the standing name.
func (c *converter) typedef(d *cc.Declarator) {
	name := d.Name()
	switch t := d.Type().(type) {
	case *cc.StructType, *cc.UnionType:
		kind := "struct"
		if t.Kind() == cc.Union {
			kind = "union"
		}
		c.m.Typedefs[kind]++
		std, ok := c.alias[name]
		if !ok {
			c.refuse(name, "a %s without members", kind)
			return
		}
		if c.rec[std] == nil {
			r := &Record{CName: std, Path: std}
			c.rec[std] = r
			c.record(r, t)
			c.m.Records = append(c.m.Records, r)
			c.m.order = append(c.m.order, r)
		}
		if std != name {
			c.addAlias(name, std)
		}
	case *cc.EnumType:
		c.m.Typedefs["enum"]++
		std, ok := c.alias[name]
		if !ok {
			c.refuse(name, "an enumeration without enumerators")
			return
		}
		if std == name {
			c.enum(name, t)
		} else {
			c.addAlias(name, std)
		}
	case *cc.PointerType:
		c.m.Typedefs["pointer"]++
		st, ok := t.Elem().(*cc.StructType)
		if !ok || !st.IsIncomplete() {
			c.refuse(name, "a pointer that is no opaque handle: %s", t)
			return
		}
		tag := st.Tag()
		h := &Handle{CName: name, Tag: tag.SrcStr()}
		c.m.Handles = append(c.m.Handles, h)
		c.m.order = append(c.m.order, h)
	case *cc.PredefinedType:
		c.m.Typedefs[t.Kind().String()]++
		k, ok := kinds[t.Kind()]
		if !ok || k == Void || k == Float || k == Double || k == Long || k == ULong {
			c.refuse(name, "a typedef of %s", t.Kind())
			return
		}
		s := &Scalar{CName: name, Kind: k}
		c.m.Scalars = append(c.m.Scalars, s)
		c.m.order = append(c.m.order, s)
	default:
		c.refuse(name, "a typedef of %s", d.Type().Kind())
	}
}

func (c *converter) addAlias(name, std string) {
	a := &Alias{CName: name, Target: std}
	c.m.Aliases = append(c.m.Aliases, a)
	c.m.order = append(c.m.order, a)
}

func (c *converter) enum(name string, t *cc.EnumType) {
	e := &Enum{CName: name, Align: int64(t.Align())}
	if t.Size() != 4 {
		c.refuse(name, "an enumeration of %d bytes, want 4", t.Size())
	}
	var lo, hi int64
	for _, x := range t.Enumerators() {
		tok := x.Token
		v, ok := intValue(x.Value())
		if !ok {
			c.refuse(name, "enumerator %s has no integer value", tok.SrcStr())
			continue
		}
		if v < math.MinInt32 || v > math.MaxUint32 {
			c.refuse(name, "enumerator %s = %d does not fit in 32 bits", tok.SrcStr(), v)
		}
		lo, hi = min(lo, v), max(hi, v)
		e.Enumerators = append(e.Enumerators, Enumerator{tok.SrcStr(), v})
	}
	if lo < 0 && hi > math.MaxInt32 {
		c.refuse(name, "an enumeration with values below zero and above the largest int")
	}
	// A return code is an int wherever it is met.
	e.Signed = lo < 0 || name == returnType
	if name == returnType && hi > math.MaxInt32 {
		c.refuse(name, "a return code above the largest int")
	}
	c.m.Enums = append(c.m.Enums, e)
	c.m.order = append(c.m.order, e)
}

// returnType is what every function but one returns.
const returnType = "nvmlReturn_t"

func intValue(v cc.Value) (int64, bool) {
	switch v := v.(type) {
	case cc.Int64Value:
		return int64(v), true
	case cc.UInt64Value:
		return int64(v), uint64(v) <= math.MaxInt64
	}
	return 0, false
}

type aggregate interface {
	cc.Type
	NumFields() int
	FieldByIndex(int) *cc.Field
}

func (c *converter) record(r *Record, ct cc.Type) {
	t := ct.(aggregate)
	r.Union = t.Kind() == cc.Union
	r.Size, r.Align = t.Size(), int64(t.Align())
	if t.IsIncomplete() || r.Size <= 0 {
		c.refuse(r.Path, "an incomplete type")
		return
	}
	var packed bool
	switch t := ct.(type) {
	case *cc.StructType:
		_, _, packed = t.PackedABILayout()
	case *cc.UnionType:
		_, _, packed = t.PackedABILayout()
	}
	if packed {
		c.refuse(r.Path, "a packed layout")
	}
	for i := range t.NumFields() {
		f := t.FieldByIndex(i)
		path := r.Path + "." + f.Name()
		if f.IsBitfield() {
			c.refuse(path, "a bit-field")
			continue
		}
		if f.IsFlexibleArrayMember() {
			c.refuse(path, "a flexible array member")
			continue
		}
		ty := c.typ(path, f.Type())
		if ty == nil {
			continue
		}
		if ty.Kind == Void {
			c.refuse(path, "a member of type void")
			continue
		}
		r.Fields = append(r.Fields, &Field{Name: f.Name(), Offset: f.Offset(), Type: ty})
	}
}

var kinds = map[cc.Kind]Kind{
	cc.Void: Void, cc.Char: Char, cc.SChar: SChar, cc.UChar: UChar,
	cc.Short: Short, cc.UShort: UShort, cc.Int: Int, cc.UInt: UInt,
	cc.Long: Long, cc.ULong: ULong, cc.LongLong: LongLong, cc.ULongLong: ULongLong,
	cc.Float: Float, cc.Double: Double,
}

// typ converts a type; nil means that it was refused. path names the
// declaration for the message.
func (c *converter) typ(path string, t cc.Type) *Type {
	ty := &Type{Size: t.Size(), Align: int64(t.Align())}
	switch t := t.(type) {
	case *cc.PredefinedType:
		if d := t.Typedef(); d != nil && d.Position().Filename == headerName {
			ty.Kind, ty.CName = ScalarRef, d.Name()
			return ty
		}
		k, ok := kinds[t.Kind()]
		if !ok {
			c.refuse(path, "a type that cannot be represented: %s", t.Kind())
			return nil
		}
		ty.Kind = k
	case *cc.EnumType:
		ty.Kind = EnumRef
		ty.CName = c.canon[identity(t)]
		if ty.CName == "" {
			c.refuse(path, "an enumeration without a typedef")
			return nil
		}
	case *cc.StructType, *cc.UnionType:
		ty.Kind = RecordRef
		if name := c.canon[identity(t)]; name != "" {
			ty.CName, ty.Record = name, c.rec[name]
			return ty
		}
		if t.IsIncomplete() {
			c.refuse(path, "an incomplete type")
			return nil
		}
		ty.Record = &Record{Path: path}
		c.record(ty.Record, t)
	case *cc.PointerType:
		if d := t.Typedef(); d != nil && d.Position().Filename == headerName {
			ty.Kind, ty.CName = HandleRef, d.Name()
			return ty
		}
		ty.Kind = Pointer
		switch e := t.Elem().(type) {
		case *cc.FunctionType:
			c.refuse(path, "a pointer to a function")
			return nil
		case *cc.StructType:
			if e.IsIncomplete() {
				c.refuse(path, "a pointer to an incomplete type")
				return nil
			}
		case *cc.PointerType:
			if e.Typedef() == nil {
				c.refuse(path, "a pointer to a pointer")
				return nil
			}
		}
		ty.Elem = c.typ(path, t.Elem())
		if ty.Elem == nil {
			return nil
		}
		ty.Const = isConst(t)
	case *cc.ArrayType:
		if t.IsVLA() || t.IsIncomplete() || t.Len() <= 0 {
			c.refuse(path, "an array without a length")
			return nil
		}
		ty.Kind, ty.Len = Array, t.Len()
		if ty.Elem = c.typ(path, t.Elem()); ty.Elem == nil {
			return nil
		}
	default:
		c.refuse(path, "a type that cannot be represented: %s", t.Kind())
		return nil
	}
	return ty
}

// isConst tells whether what t points to is const. The parser keeps
// qualifiers in the attributes of the element.
func isConst(t *cc.PointerType) bool {
	a := t.Elem().Attributes()
	return a != nil && a.IsConst()
}

func (c *converter) function(d *cc.Declarator) {
	name := d.Name()
	ft := d.Type().(*cc.FunctionType)
	f := &Func{CName: name}
	if ft.IsVariadic() {
		c.refuse(name, "a variadic function")
	}
	switch r := ft.Result().(type) {
	case *cc.EnumType:
		if c.canon[identity(r)] != returnType {
			c.refuse(name, "a result of type %s", r)
		}
	case *cc.PointerType:
		if r.Elem().Kind() != cc.Char {
			c.refuse(name, "a result of type %s", r)
		}
		f.String = true
	default:
		c.refuse(name, "a result of type %s", r)
	}
	params := ft.Parameters()
	if len(params) == 1 && params[0].Type().Kind() == cc.Void {
		params = nil
	}
	if len(params) > maxParams {
		c.refuse(name, "%d parameters, at most %d can be passed", len(params), maxParams)
	}
	for i, p := range params {
		pn := p.Name()
		if pn == "" {
			pn = fmt.Sprintf("arg%d", i)
		}
		path := name + ": parameter " + pn
		pt := p.Type()
		ty := c.typ(path, pt.Decay())
		if ty == nil {
			continue
		}
		switch ty.Kind {
		case RecordRef:
			what := "struct"
			if ty.Record != nil && ty.Record.Union {
				what = "union"
			}
			c.refuse(path, "a %s by value", what)
			continue
		case Float, Double:
			c.refuse(path, "a floating-point argument")
			continue
		case Void, Array, Long, ULong:
			c.refuse(path, "an argument of type %s", pt)
			continue
		}
		if ty.Kind == Pointer {
			if e := ty.Elem; e.Kind == RecordRef && e.CName == "" || e.Kind == Array {
				c.refuse(path, "an argument of type %s", pt)
				continue
			}
		}
		f.Params = append(f.Params, &Param{Name: pn, Type: ty})
	}
	f.Deprecated = c.deprecated(d)
	c.m.Funcs = append(c.m.Funcs, f)
}

var deprecatedMark = regexp.MustCompile(`\bDEPRECATED\(([0-9.]+)\)`)

// deprecated finds the mark that the preprocessor turned into an attribute, in
// the text between the end of the declaration before and the name.
func (c *converter) deprecated(d *cc.Declarator) string {
	pos := d.NameTok().Position()
	line := pos.Line - 1
	text := c.header[line][:pos.Column-1]
	for i := line - 1; i >= 0 && !strings.ContainsAny(text, ";/}#"); i-- {
		text = c.header[i] + "\n" + text
	}
	text = text[strings.LastIndexAny(text, ";/}")+1:]
	m := deprecatedMark.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1]
}

var intLiteral = regexp.MustCompile(`^(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*$`)

func (c *converter) macros() {
	names := make([]string, 0, len(c.ast.Macros))
	for n, m := range c.ast.Macros {
		if m.Position().Filename == headerName && !m.IsFnLike {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	for _, n := range names {
		c.macro(n, c.ast.Macros[n])
	}
}

func (c *converter) macro(name string, m *cc.Macro) {
	var toks []string
	for _, t := range m.ReplacementList() {
		if s := strings.TrimSpace(t.SrcStr()); s != "" {
			toks = append(toks, s)
		}
	}
	if len(toks) == 0 || name == "DECLDIR" {
		return // a switch, not a value
	}
	out := &Macro{CName: name}
	switch v := m.Value().(type) {
	case cc.StringValue:
		out.Value = strconv.Quote(strings.TrimSuffix(string(v), "\x00"))
	case cc.Int64Value:
		out.Value = strconv.FormatInt(int64(v), 10)
	case cc.UInt64Value:
		out.Value = strconv.FormatUint(uint64(v), 10)
	case cc.Float64Value:
		out.Value = strconv.FormatFloat(float64(v), 'g', -1, 64)
	default:
		switch {
		case len(toks) == 1 && c.isTypedef(toks[0]):
			return // another name for a type
		case len(toks) == 3 && toks[1] == ":" && intLiteral.MatchString(toks[0]) && intLiteral.MatchString(toks[2]):
			out.Range, out.Hi, out.Lo = true, toks[0], toks[2]
			c.m.Macros = append(c.m.Macros, out)
			return
		}
		c.refuse(name, "a macro without a value: %s", strings.Join(toks, " "))
		return
	}
	if toks[0] == "NVML_STRUCT_VERSION" {
		w, err := strconv.ParseUint(out.Value, 10, 32)
		if err != nil || len(toks) != 6 {
			c.refuse(name, "a version word that cannot be read: %s", out.Value)
			return
		}
		out.Word = uint32(w)
		out.Value = fmt.Sprintf("0x%08x", w)
		out.Struct = "nvml" + toks[2] + "_v" + toks[4] + "_t"
		if _, ok := c.alias[out.Struct]; !ok {
			c.refuse(name, "a version word of the unknown struct %s", out.Struct)
			return
		}
		c.m.Words = append(c.m.Words, out)
		return
	}
	// A hexadecimal literal stays one.
	if len(toks) == 1 && intLiteral.MatchString(toks[0]) {
		if s := strings.TrimRight(toks[0], "uUlL"); strings.HasPrefix(strings.ToLower(s), "0x") {
			out.Value = s
		}
	}
	c.m.Macros = append(c.m.Macros, out)
}

func (c *converter) isTypedef(name string) bool {
	for _, n := range c.ast.Scope.Nodes[name] {
		if d, ok := n.(*cc.Declarator); ok && d.IsTypename() {
			return true
		}
	}
	return false
}

// Load reads the header for every target, checks that they agree and returns
// the model of the first.
func Load(header []byte) (*Model, error) {
	var base *Model
	for _, t := range targets {
		m, err := convert(t, header)
		if err != nil {
			return nil, err
		}
		if base == nil {
			base = m
			continue
		}
		if err := compare(base, m); err != nil {
			return nil, err
		}
	}
	return base, nil
}
