package nvml

import "nvtop-lite/nvml/gen"

// maxList bounds what a library may ask for as a list.
const maxList = 1 << 18

// getList calls a function that fills a list, and a number that is the room
// before the call and the length after it. hint is the room of the first try.
func getList[T any](d Device, fn gen.Function, hint int, m func(f *frame, n *uint32, list *T) gen.Return_t) ([]T, error) {
	f, err := d.enter(fn)
	if err != nil {
		return nil, err
	}
	defer f.leave()
	list, r := callList(f, fn, 0, hint, m)
	if r != Success {
		return nil, f.fail(fn, r)
	}
	return append([]T(nil), list...), nil
}

// callList makes the call of getList, again with more room where that is asked
// for, as a member of a chain at that place. The list is the frame's.
func callList[T any](f *frame, fn gen.Function, place, hint int, m func(f *frame, n *uint32, list *T) gen.Return_t) ([]T, Return) {
	room := hint
	for range 8 {
		if !f.begin(fn, place) {
			return nil, ErrFunctionNotFound
		}
		list := listOf[T](f, room)
		f.words()
		f.w[0] = uint32(room)
		r := f.end(m(f, &f.w[0], &list[0]))
		n := int(f.w[0])
		switch {
		case r == Success && n <= room:
			return list[:n], Success
		case r == Success:
			return nil, ErrImplausible
		case r != ErrInsufficientSize || n > maxList:
			return nil, r
		}
		room = min(max(n+n/8+8, 2*room), maxList)
	}
	return nil, ErrInsufficientSize
}
