//go:build !windows

package process

import (
	"errors"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

func newLooker(h *host.Reader) looker {
	if h.Root().Files() {
		return newTree(h)
	}
	return nobody{}
}

// nobody stands for systems in which no process is looked up.
type nobody struct{}

func (nobody) sample(uint32, *sample, int64) (sample, error) { return sample{}, errors.ErrUnsupported }
func (nobody) describe(uint32, sample) (facts, bool)         { return facts{}, false }
func (nobody) judge(holding) verdict                         { return verdict{why: monitor.NotSupported} }
func (nobody) absent(uint32, error) verdict                  { return verdict{why: monitor.NotSupported} }
func (nobody) title(uint32) string                           { return "" }
