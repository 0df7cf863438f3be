//go:build !cgo

#include "textflag.h"

// See entry_linux_amd64.s.
TEXT ·entry(SB),NOSPLIT|NOFRAME,$0
	MOVD	$·entry(SB), R1
	AND	$~0xfff, R1
	MOVD	$0x464c457f, R2		// "\x7fELF"
image:
	MOVWU	0(R1), R3
	CMP	R2, R3
	BEQ	header
	SUB	$0x1000, R1
	B	image
header:
	MOVD	32(R1), R4		// e_phoff
	ADD	R1, R4
	MOVHU	54(R1), R5		// e_phentsize
	MOVHU	56(R1), R6		// e_phnum
segment:
	CBZ	R6, static
	MOVWU	0(R4), R3
	CMP	$2, R3			// PT_DYNAMIC
	BEQ	dynamic
	ADD	R5, R4
	SUB	$1, R6
	B	segment
dynamic:
	MOVD	16(R4), R1		// p_vaddr
tag:
	MOVD	0(R1), R3
	CBZ	R3, static		// DT_NULL
	CMP	$21, R3			// DT_DEBUG
	BEQ	debug
	ADD	$16, R1
	B	tag
debug:
	MOVD	8(R1), R3
	CBNZ	R3, start
static:
	MOVD	$_cgo_init(SB), R1
	MOVD	ZR, (R1)
	MOVD	$runtime·_cgo_setenv(SB), R1
	MOVD	ZR, (R1)
	MOVD	$runtime·_cgo_unsetenv(SB), R1
	MOVD	ZR, (R1)
	MOVD	$runtime·iscgo(SB), R1
	MOVB	ZR, (R1)
	MOVD	$1, R2
	MOVD	$·static(SB), R1
	MOVB	R2, (R1)
start:
	B	_rt0_arm64_linux(SB)
