//go:build !cgo

#include "textflag.h"

// entry is where the kernel, or a loader, starts the file of two modes. A loader
// writes where its list of libraries is into DT_DEBUG of the program's dynamic
// section; the kernel never does. While that is zero nobody has resolved the
// functions of the C library, and what would call them is cleared. It leaves the
// stack alone, from which Go's own entry takes the arguments.
//
// The file is not position-independent, so that its headers and its dynamic
// section lie where they were linked to.
TEXT ·entry(SB),NOSPLIT|NOFRAME,$0
	MOVQ	$·entry(SB), SI
	ANDQ	$~0xfff, SI
image:
	CMPL	0(SI), $0x464c457f	// "\x7fELF"
	JEQ	header
	SUBQ	$0x1000, SI
	JMP	image
header:
	MOVQ	SI, DI
	ADDQ	32(SI), DI		// e_phoff
	MOVWLZX	54(SI), CX		// e_phentsize
	MOVWLZX	56(SI), BX		// e_phnum
segment:
	TESTL	BX, BX
	JZ	static
	CMPL	0(DI), $2		// PT_DYNAMIC
	JEQ	dynamic
	ADDQ	CX, DI
	DECL	BX
	JMP	segment
dynamic:
	MOVQ	16(DI), SI		// p_vaddr
tag:
	MOVQ	0(SI), AX
	TESTQ	AX, AX			// DT_NULL
	JZ	static
	CMPQ	AX, $21			// DT_DEBUG
	JEQ	debug
	ADDQ	$16, SI
	JMP	tag
debug:
	CMPQ	8(SI), $0
	JNE	start
static:
	MOVQ	$0, _cgo_init(SB)
	MOVQ	$0, runtime·_cgo_setenv(SB)
	MOVQ	$0, runtime·_cgo_unsetenv(SB)
	MOVB	$0, runtime·iscgo(SB)
	MOVB	$1, ·static(SB)
start:
	JMP	_rt0_amd64_linux(SB)
