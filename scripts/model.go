package main

// Model is what the emitters read: the header as one target sees it, in plain
// data, ordered as declared. Functions are ordered by name.
type Model struct {
	Target  target
	Version string // of the header, as its first line gives it: "13.4.92"

	Enums    []*Enum
	Scalars  []*Scalar
	Handles  []*Handle
	Records  []*Record // structs and unions with a typedef of their own
	Aliases  []*Alias
	Macros   []*Macro // ordered by name
	Words    []*Macro // the NVML_STRUCT_VERSION macros, ordered by name
	Funcs    []*Func  // ordered by name
	Typedefs map[string]int

	order []any // *Enum, *Scalar, *Handle, *Record, *Alias in the order of declaration
}

// Enum is a C enumeration; every one is 4 bytes.
type Enum struct {
	CName       string
	Signed      bool
	Enumerators []Enumerator
	Align       int64
}

// Enumerator is one name of an enumeration.
type Enumerator struct {
	Name  string
	Value int64
}

// Scalar is a typedef of an unsigned integer.
type Scalar struct {
	CName string
	Kind  Kind
}

// Handle is a typedef of a pointer to a struct without a body.
type Handle struct {
	CName string
	Tag   string
}

// Alias is a typedef that only gives a struct, union or enumeration a further name.
type Alias struct {
	CName  string
	Target string
}

// Record is a struct or union.
type Record struct {
	CName  string // "" for a nested record without a name
	Path   string // for messages: nvmlGpmMetric_t.metricInfo
	Union  bool
	Size   int64
	Align  int64
	Fields []*Field
}

// Field is a member of a record.
type Field struct {
	Name   string // "" for an anonymous member
	Offset int64
	Type   *Type
}

// Kind says what a C type is.
type Kind int

const (
	Void Kind = iota
	Char
	SChar
	UChar
	Short
	UShort
	Int
	UInt
	Long
	ULong
	LongLong
	ULongLong
	Float
	Double
	EnumRef
	HandleRef
	ScalarRef
	RecordRef
	Pointer
	Array
)

// cKinds are the C spellings of the arithmetic kinds.
var cKinds = map[Kind]string{
	Void: "void", Char: "char", SChar: "signed char", UChar: "unsigned char",
	Short: "short", UShort: "unsigned short", Int: "int", UInt: "unsigned int",
	Long: "long", ULong: "unsigned long",
	LongLong: "long long", ULongLong: "unsigned long long",
	Float: "float", Double: "double",
}

// Type is a C type as the emitters need it.
type Type struct {
	Kind   Kind
	Size   int64
	Align  int64
	CName  string  // typedef name of an enumeration, handle, scalar or record; "" for a nested record
	Const  bool    // of a pointer: what it points to is const
	Elem   *Type   // of a pointer or array
	Len    int64   // of an array
	Record *Record // of a record
}

// Func is one exported C function.
type Func struct {
	CName      string
	Params     []*Param
	String     bool   // returns a C string; all others return nvmlReturn_t
	Deprecated string // "13.0" where the header marks the function so
	First      string // first driver, "" when not known
}

// Param is one parameter of a function.
type Param struct {
	Name string
	Type *Type
}

// Macro is an object-like macro with a value.
type Macro struct {
	CName  string
	Value  string // literal, the same in Go and C
	Word   uint32 // of a version word
	Struct string // of a version word: the C name of the struct it belongs to
	Range  bool   // hi:lo bit range; Value is empty
	Hi, Lo string
}
