package host

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"
)

// cpuTimes is the time of all cores since boot, in units that cancel out.
type cpuTimes struct{ busy, total uint64 }

// ErrMalformed is the error of a file whose content has another form than the
// kernel gives it.
var ErrMalformed = errors.New("malformed")

// parseCPU reads the line of all cores from /proc/stat. Guest time is already
// part of user time there.
func parseCPU(data []byte) (cpuTimes, error) {
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) < 5 || string(fields[0]) != "cpu" {
			continue
		}
		var t cpuTimes
		for i, f := range fields[1:min(len(fields), 9)] {
			v, err := strconv.ParseUint(string(f), 10, 64)
			if err != nil || v > math.MaxUint64-t.total {
				return cpuTimes{}, ErrMalformed
			}
			t.total += v
			if i != 3 && i != 4 { // idle, iowait
				t.busy += v
			}
		}
		return t, nil
	}
	return cpuTimes{}, ErrMalformed
}

// parseBootTime reads the line btime from /proc/stat, in ns since 1970.
func parseBootTime(data []byte) (int64, error) {
	for line := range bytes.Lines(data) {
		rest, ok := bytes.CutPrefix(line, []byte("btime "))
		if !ok {
			continue
		}
		s, err := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64)
		if err != nil || s < 0 || s > math.MaxInt64/1_000_000_000 {
			return 0, ErrMalformed
		}
		return s * 1_000_000_000, nil
	}
	return 0, ErrMalformed
}

// parseMeminfo returns the line key of /proc/meminfo in bytes, for a line
// without a unit as it stands.
func parseMeminfo(data []byte, key string) (uint64, bool) {
	for line := range bytes.Lines(data) {
		name, rest, ok := bytes.Cut(line, []byte(":"))
		if !ok || string(name) != key {
			continue
		}
		fields := bytes.Fields(rest)
		if len(fields) == 0 {
			return 0, false
		}
		v, err := strconv.ParseUint(string(fields[0]), 10, 64)
		if err != nil {
			return 0, false
		}
		if len(fields) > 1 {
			if string(fields[1]) != "kB" || v > math.MaxInt64/1024 {
				return 0, false
			}
			v *= 1024
		}
		return v, true
	}
	return 0, false
}

// parseModuleVersion finds the version in /proc/driver/nvidia/version: the
// first word of the NVRM line that is made of numbers and dots. It stands after
// "Kernel Module", or after "Open Kernel Module for x86_64".
func parseModuleVersion(data []byte) string {
	for line := range bytes.Lines(data) {
		rest, ok := bytes.CutPrefix(line, []byte("NVRM version:"))
		if !ok {
			continue
		}
		for _, f := range bytes.Fields(rest) {
			if isVersion(string(f)) {
				return string(f)
			}
		}
	}
	return ""
}

// isVersion reports whether s has the form 580.95.05, at least two numbers.
func isVersion(s string) bool {
	parts := strings.Split(s, ".")
	if len(parts) < 2 || len(parts) > 5 {
		return false
	}
	for _, p := range parts {
		if p == "" || len(p) > 6 || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	return true
}

// parseCompatible returns the SoC from a device tree's list of names, which are
// separated by NUL; "" where it is no Tegra. The most general name is the last.
func parseCompatible(data []byte) string {
	soc := ""
	for name := range strings.SplitSeq(string(data), "\x00") {
		if rest, ok := strings.CutPrefix(name, "nvidia,tegra"); ok && rest != "" {
			soc = "tegra" + strings.ToValidUTF8(rest, "\uFFFD")
		}
	}
	return soc
}

// parseRelease returns the L4T version from /etc/nv_tegra_release, such as
// 36.4.4 from "# R36 (release), REVISION: 4.4, …"; "" where it has another form.
func parseRelease(data []byte) string {
	line, _, _ := strings.Cut(string(data), "\n")
	_, rest, ok := strings.Cut(line, "# R")
	if !ok {
		return ""
	}
	major, rest, ok := strings.Cut(rest, " ")
	if !ok {
		return ""
	}
	_, rest, ok = strings.Cut(rest, "REVISION:")
	if !ok {
		return ""
	}
	revision, _, _ := strings.Cut(rest, ",")
	version := major + "." + strings.TrimSpace(revision)
	if !isVersion(version) {
		return ""
	}
	return version
}

// parsePowerMode returns the number of the mode from /var/lib/nvpmodel/status,
// such as 2 from "pmode:0002 fmode:fanNull".
func parsePowerMode(data []byte) (int, bool) {
	for f := range strings.FieldsSeq(string(data)) {
		if rest, ok := strings.CutPrefix(f, "pmode:"); ok {
			n, err := strconv.ParseUint(rest, 10, 16)
			return int(n), err == nil
		}
	}
	return 0, false
}

// parsePowerModeName finds the name of mode id in /etc/nvpmodel.conf, where it
// stands as "< POWER_MODEL ID=2 NAME=MAXN_SUPER >".
func parsePowerModeName(data []byte, id int) string {
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(strings.Trim(strings.TrimSpace(line), "<>"))
		if len(f) < 3 || f[0] != "POWER_MODEL" || f[1] != "ID="+strconv.Itoa(id) {
			continue
		}
		if name, ok := strings.CutPrefix(f[2], "NAME="); ok {
			return strings.ToValidUTF8(name, "\uFFFD")
		}
	}
	return ""
}
