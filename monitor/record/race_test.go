//go:build race

package record

// underRace is set where the race detector makes every process slow to start.
const underRace = true
