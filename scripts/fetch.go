package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// headerModule is the module that carries NVIDIA's header, unchanged, as
// gen/nvml/nvml.h.
const headerModule = "github.com/NVIDIA/go-nvml"

// headerFolder returns the folder of the header's module. version "" is the
// one that go.mod requires. The sum must stand in go.sum.
func headerFolder(version string) (string, error) {
	if version == "" {
		out, err := goTool("list", "-m", "-f", "{{.Version}}", headerModule)
		if err != nil {
			return "", err
		}
		version = strings.TrimSpace(string(out))
	}
	out, err := goTool("mod", "download", "-json", headerModule+"@"+version)
	var mod struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &mod); jsonErr != nil {
		return "", errors.Join(err, jsonErr)
	}
	if mod.Error != "" {
		return "", errors.New(mod.Error)
	}
	if err != nil {
		return "", err
	}
	gomod, err := goTool("env", "GOMOD")
	if err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(filepath.Dir(strings.TrimSpace(string(gomod))), "go.sum"))
	if err != nil {
		return "", err
	}
	return mod.Dir, checkSum(sums, version, mod.Sum)
}

// checkSum looks for the module's sum in the text of go.sum.
func checkSum(sums []byte, version, sum string) error {
	prefix := headerModule + " " + version + " "
	for line := range strings.Lines(string(sums)) {
		if have, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			if have != sum {
				return fmt.Errorf("%s %s has the sum %s, go.sum says %s", headerModule, version, sum, have)
			}
			return nil
		}
	}
	return fmt.Errorf("go.sum has no sum of %s %s", headerModule, version)
}

func goTool(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, err
}
