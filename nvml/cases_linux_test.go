package nvml

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSearchUnderWSL: Windows' own library comes before one that a
// distribution's package has put where the loader looks.
func TestSearchUnderWSL(t *testing.T) {
	native := searchPath("")
	was := wslDevice
	defer func() { wslDevice = was }()
	wslDevice = filepath.Join(t.TempDir(), "dxg")
	if err := os.WriteFile(wslDevice, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	list := searchPath("")
	own, loader := slices.Index(list, "/usr/lib/wsl/lib/libnvidia-ml.so.1"), slices.Index(list, bareName)
	if own != 0 || loader <= own || !slices.Equal(list[loader:], native[slices.Index(native, bareName):]) {
		t.Errorf("%q", list)
	}
	if got := searchPath("/some/lib.so"); !slices.Equal(got, []string{"/some/lib.so"}) {
		t.Errorf("a library that was named: %q", got)
	}
}
