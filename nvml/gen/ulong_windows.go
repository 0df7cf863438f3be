package gen

// Ulong is the C type unsigned long: 32 bits on Windows.
type Ulong = uint32
