package encoder

import "unsafe"

// signed returns b as signed bytes, without a copy.
func signed(b []byte) []int8 {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*int8)(unsafe.Pointer(&b[0])), len(b))
}
