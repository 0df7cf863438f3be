package main

import (
	"strings"
	"testing"
)

// preamble is the least that a header needs.
const preamble = `typedef struct nvmlDevice_st* nvmlDevice_t;
typedef enum nvmlReturn_enum { NVML_SUCCESS = 0, NVML_ERROR_UNKNOWN = 999 } nvmlReturn_t;
#define NVML_STRUCT_VERSION(data, ver) (unsigned int)(sizeof(nvml ## data ## _v ## ver ## _t) | (ver << 24U))
`

func TestWhatCannotBeBoundIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ header, want string }{
		"struct by value": {
			"typedef struct { int a; } nvmlA_t;\nnvmlReturn_t nvmlSet(nvmlDevice_t d, nvmlA_t a);",
			"nvmlSet: parameter a: a struct by value"},
		"struct without a typedef by value": {
			"struct nvmlA_st { int a; };\nnvmlReturn_t nvmlSet(struct nvmlA_st a);",
			"nvmlSet: parameter a: a struct by value"},
		"union by value": {
			"typedef union { int a; float b; } nvmlU_t;\nnvmlReturn_t nvmlSet(nvmlU_t u);",
			"nvmlSet: parameter u: a union by value"},
		"struct returned": {
			"typedef struct { int a; } nvmlA_t;\nnvmlA_t nvmlGet(void);",
			"nvmlGet: a result of type"},
		"float argument": {
			"nvmlReturn_t nvmlSet(nvmlDevice_t d, float x);",
			"nvmlSet: parameter x: a floating-point argument"},
		"double argument": {
			"nvmlReturn_t nvmlSet(double x);",
			"nvmlSet: parameter x: a floating-point argument"},
		"long argument": {
			"nvmlReturn_t nvmlSet(unsigned long x);",
			"nvmlSet: parameter x: an argument of type unsigned long"},
		"other result": {
			"int nvmlGet(void);", "nvmlGet: a result of type int"},
		"seven parameters": {
			"nvmlReturn_t nvmlSet(int a, int b, int c, int d, int e, int f, int g);",
			"nvmlSet: 7 parameters, at most 6 can be passed"},
		"variadic": {
			"nvmlReturn_t nvmlSet(int a, ...);", "nvmlSet: a variadic function"},
		"callback": {
			"nvmlReturn_t nvmlSet(void (*hook)(int));",
			"nvmlSet: parameter hook: a pointer to a function"},
		"pointer to a pointer": {
			"nvmlReturn_t nvmlGet(char **names);",
			"nvmlGet: parameter names: a pointer to a pointer"},
		"pointer to an unknown struct": {
			"struct nvmlA_st;\nnvmlReturn_t nvmlGet(struct nvmlA_st *a);",
			"nvmlGet: parameter a: a pointer to an incomplete type"},
		"bit-field": {
			"typedef struct { unsigned a : 3; unsigned b : 29; } nvmlA_t;",
			"nvmlA_t.a: a bit-field"},
		"bit-field in a nested struct": {
			"typedef struct { struct { unsigned a : 3; } in; } nvmlA_t;",
			"nvmlA_t.in.a: a bit-field"},
		"packed struct": {
			"typedef struct __attribute__((packed)) { char a; int b; } nvmlA_t;",
			"nvmlA_t: a packed layout"},
		"flexible array": {
			"typedef struct { int n; int a[]; } nvmlA_t;",
			"nvmlA_t.a: "},
		"long in a struct": {
			"typedef struct { unsigned long a; int b; } nvmlA_t;",
			"nvmlA_t: size differs between targets: 16 on linux/amd64, 8 on windows/amd64"},
		"long in a nested struct": {
			"typedef struct { struct { long a; } in; } nvmlA_t;",
			"nvmlA_t.in.a: size differs between targets: 8 on linux/amd64, 4 on windows/amd64"},
		"long double": {
			"typedef struct { long double a; } nvmlA_t;",
			"nvmlA_t.a: a type that cannot be represented"},
		"pointer to long": {
			"nvmlReturn_t nvmlGet(long *a);",
			"nvmlGet: parameter a: type differs between targets"},
		"function pointer typedef": {
			"typedef void (*nvmlHook_t)(int);",
			"nvmlHook_t: a pointer that is no opaque handle"},
		"typedef of long": {
			"typedef unsigned long nvmlWord_t;",
			"nvmlWord_t: a typedef of unsigned long"},
		"declaration on one system": {
			"#ifdef _WIN32\nnvmlReturn_t nvmlOnlyWindows(void);\n#endif",
			"function nvmlOnlyWindows: presence differs between targets: absent on linux/amd64, present on windows/amd64"},
		"value on one system": {
			"#ifdef _WIN32\n#define NVML_X 1\n#else\n#define NVML_X 2\n#endif",
			"NVML_X: value differs between targets: 2 on linux/amd64, 1 on windows/amd64"},
		"prototype on one system": {
			"#ifdef _WIN32\nnvmlReturn_t nvmlGet(int a);\n#else\nnvmlReturn_t nvmlGet(unsigned int a);\n#endif",
			"nvmlGet: parameter a: type differs between targets"},
		"enumerator out of range": {
			"typedef enum { NVML_A = -1, NVML_B = 0xFFFFFFFF } nvmlE_t;",
			"nvmlE_t: an enumeration"},
		"macro without a value": {
			"#define NVML_X some words here", "NVML_X: a macro without a value: some words here"},
		"variable": {
			"extern int nvmlGlobal;", "nvmlGlobal: a variable"},
		"two names, one Go name": {
			"#define nvmlSame 1\ntypedef enum { Same = 2 } nvmlE_t;",
			"the Go name Same is taken by "},
		"lower-case name": {
			"#define nvmlabc 1", "nvmlabc: the Go name abc would not be exported"},
		"syntax error": {
			"nvmlReturn_t nvmlGet(unknown_t a);", "nvml.h:4:32: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Generate([]byte(preamble + c.header + "\n"))
			if err == nil {
				t.Fatal("it was bound")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is\n%v\nwant it to say\n%s", err, c.want)
			}
		})
	}
}

// What a later header may bring without trouble.
func TestWhatCanBeBound(t *testing.T) {
	files, err := Generate([]byte(preamble + `
typedef struct { char name[4][8]; signed char s; float f; double d; struct { int type; } range[2]; void *p; } nvmlA_v1_t;
typedef nvmlA_v1_t nvmlA_t;
#define nvmlA_v1 NVML_STRUCT_VERSION(A, 1)
typedef struct { union { int a; struct { char b, c; } s; }; union { long long d; }; } nvmlB_t;
nvmlReturn_t nvmlGet(nvmlDevice_t f, const nvmlA_t *type, void *l, const void *in, unsigned char range, unsigned int [4]);
const char *nvmlName(int which);
`))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"nvml/gen/type.go": {
			"type A_v1_t struct {\n\tName  [4][8]byte\n\tS     int8\n\t_     [3]byte\n\tF     float32\n\tD     float64\n\tRange [2]A_v1_Range\n\tP     uintptr // address of void\n}",
			"type B_t struct {\n\tUnion  B_Union\n\t_      [4]byte\n\tUnion2 B_Union2\n}",
			"func (u *B_Union) S() *B_Union_S",
		},
		"nvml/gen/const.go": {"VersionA_v1 = 0x01000040"},
		"nvml/gen/method.go": {
			"func (l *Library) Get(f *Frame, f_ Device_t, type_ *A_v1_t, l_ unsafe.Pointer, in unsafe.Pointer, range_ byte, arg5 *uint32) Return_t {",
			"// In: f_, type_, in, range_. Out: l_, arg5.\n",
			"func (l *Library) Name(f *Frame, which int32) string {",
		},
		"internal/abi/nvml_abi.h": {"nvmlReturn_t nvmlGet(nvmlDevice_t f, const nvmlA_v1_t *type, void *l, const void *in, unsigned char range, unsigned int *arg5);"},
	} {
		for _, w := range want {
			if !strings.Contains(string(files[file]), w) {
				t.Errorf("%s lacks\n%s\n%s", file, w, files[file])
			}
		}
	}
}
