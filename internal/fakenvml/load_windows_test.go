package fakenvml_test

import "syscall"

func loadLibrary(path string) (uintptr, error) {
	library, err := syscall.LoadLibrary(path)
	return uintptr(library), err
}

func findSymbol(library uintptr, name string) uintptr {
	address, err := syscall.GetProcAddress(syscall.Handle(library), name)
	if err != nil {
		return 0
	}
	return address
}
