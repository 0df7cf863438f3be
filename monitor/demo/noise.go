package demo

import "math"

// mix is the finaliser of a 64-bit hash: every bit of the result depends on
// every bit of x.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return x
}

// hash combines numbers into one that looks random.
//
// Inlined, it would make the program 3 kB larger.
//
//go:noinline
func hash(parts ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, p := range parts {
		h = mix(h ^ p + 0x9e3779b97f4a7c15)
	}
	return h
}

// unit turns a hash into a number from 0 up to 1.
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// noise is smooth random noise from 0 to 1 that changes on the scale of one
// unit of t.
func noise(seed uint64, t float64) float64 {
	n := math.Floor(t)
	f := t - n
	f = f * f * (3 - 2*f)
	i := uint64(int64(n))
	return unit(hash(seed, i))*(1-f) + unit(hash(seed, i+1))*f
}

// Of a walk: its value is known at every blockSteps-th step, and is filled in
// between by halving.
const (
	blockSteps = 1 << 10
	// spread is how far apart the values at the ends of a block may be.
	spread = 1000
)

// walk is a random walk between 0 and 100 whose steps have the standard
// deviation step, reflected at both ends. It is a function of n alone: between
// two fixed points a path is found by displacing midpoints.
func walk(seed uint64, n int64, step float64) float64 {
	block := n >> 10
	at := n & (blockSteps - 1)
	lo := spread * unit(hash(seed, uint64(block)))
	hi := spread * unit(hash(seed, uint64(block+1)))
	for left, length := int64(0), int64(blockSteps); length > 1; {
		half := length / 2
		// The midpoint of a bridge of this length has this deviation; a uniform
		// number from -1 to 1 has that of 1/√3.
		deviation := step * math.Sqrt(float64(length)) / 2
		u := 2*unit(hash(seed, uint64(block), uint64(left+half))) - 1
		mid := (lo+hi)/2 + u*math.Sqrt(3)*deviation
		if at < left+half {
			hi, length = mid, half
			continue
		}
		lo, left, length = mid, left+half, half
	}
	v := math.Mod(math.Abs(lo), 200)
	if v > 100 {
		v = 200 - v
	}
	return v
}
