/*
Package gen calls the C functions of NVML, the NVIDIA Management Library,
without cgo. It is generated from NVIDIA's header nvml.h and keeps the C names;
most programs want package nvml, which is built on it.

# Names

A C name loses the prefix nvml and nothing else: nvmlDeviceGetMemoryInfo_v2 is
the method [Library.DeviceGetMemoryInfo_v2], nvmlMemory_v2_t the type
[Memory_v2_t], nvmlEventTypeXidCriticalError the constant
[EventTypeXidCriticalError]. Names that begin with NVML_ stay as they are.
Members of structs begin with a capital letter.

  - An enumeration is a type with typed constants; a macro is an untyped constant.
  - The version word nvmlMemory_v2 is the constant [VersionMemory_v2].
  - A name without a version suffix that only stands for the newest version of a
    struct is left out, because it moves: nvmlGpuFabricInfoV_t is
    [GpuFabricInfo_v3_t].
  - Handles and addresses inside structs are numbers. Memory whose address goes
    into a struct must be pinned (runtime.Pinner) or lie outside the Go heap.
  - A union is an array with a method for each member, except [Value_t], which
    is one word.

# Calls

Each method takes a [Frame] and calls one C function. Parameters named "Out" in
its documentation are pointers to something not const: the function writes it,
and may read it before, as it does with counts and with structs that begin with
a version. A pointer to the first element stands for an array.

A function that the library lacks answers [NVML_ERROR_FUNCTION_NOT_FOUND]. It is
looked up on first use, by itself, and the answer is remembered. A call occupies
one thread of the operating system until the library returns and cannot be
cancelled. A nil Frame panics.

# Notice

Names, numbers and layouts come from nvml.h, which carries this notice:

	Copyright 1993-2026 NVIDIA Corporation.  All rights reserved.

	NOTICE TO USER:

	This source code is subject to NVIDIA ownership rights under U.S. and
	international Copyright laws.  Users and possessors of this source code
	are hereby granted a nonexclusive, royalty-free license to use this code
	in individual and commercial software.

	NVIDIA MAKES NO REPRESENTATION ABOUT THE SUITABILITY OF THIS SOURCE
	CODE FOR ANY PURPOSE.  IT IS PROVIDED "AS IS" WITHOUT EXPRESS OR
	IMPLIED WARRANTY OF ANY KIND.  NVIDIA DISCLAIMS ALL WARRANTIES WITH
	REGARD TO THIS SOURCE CODE, INCLUDING ALL IMPLIED WARRANTIES OF
	MERCHANTABILITY, NONINFRINGEMENT, AND FITNESS FOR A PARTICULAR PURPOSE.
	IN NO EVENT SHALL NVIDIA BE LIABLE FOR ANY SPECIAL, INDIRECT, INCIDENTAL,
	OR CONSEQUENTIAL DAMAGES, OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS
	OF USE, DATA OR PROFITS,  WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE
	OR OTHER TORTIOUS ACTION,  ARISING OUT OF OR IN CONNECTION WITH THE USE
	OR PERFORMANCE OF THIS SOURCE CODE.

	U.S. Government End Users.   This source code is a "commercial item" as
	that term is defined at  48 C.F.R. 2.101 (OCT 1995), consisting  of
	"commercial computer  software"  and "commercial computer software
	documentation" as such terms are  used in 48 C.F.R. 12.212 (SEPT 1995)
	and is provided to the U.S. Government only as a commercial end item.
	Consistent with 48 C.F.R.12.212 and 48 C.F.R. 227.7202-1 through
	227.7202-4 (JUNE 1995), all U.S. Government End Users acquire the
	source code with only those rights set forth herein.

	Any use of this source code in individual and commercial software must
	include, in the user documentation and internal comments to the code,
	the above Disclaimer and U.S. Government End Users Notice.
*/
package gen

//go:generate go run -C ../../scripts . -out ..
