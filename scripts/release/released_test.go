package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"debug/pe"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// These tests look at a release that was made: scripts/test.sh release. Their
// variables are the folder, and the address that it was told.
const (
	releaseFolder = "NVTOP_LITE_TEST_RELEASE"
	releaseURL    = "NVTOP_LITE_URL"
)

// released is the folder with the release, and its version.
func released(t *testing.T) (folder, version string) {
	t.Helper()
	if folder = os.Getenv(releaseFolder); folder == "" {
		t.Skip(releaseFolder + " names no release")
	}
	return folder, string(constant.FindSubmatch(content(t, filepath.Join("..", "..", "cmd", name, "main.go")))[1])
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// said is what a command prints.
func said(t *testing.T, command string, args ...string) string {
	t.Helper()
	out, err := exec.Command(command, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", command, args, err, out)
	}
	return string(out)
}

func sum(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// TestReleasedFilesAreTold: the table in README.md names each file, those of one
// architecture for both.
func TestReleasedFilesAreTold(t *testing.T) {
	folder, _ := released(t)
	_, table, _ := strings.Cut(string(content(t, filepath.Join("..", "..", "README.md"))), "\n| file | for |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var told []string
	for row := range strings.Lines(table) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
		for i, word := range strings.Split(cell, "`") {
			if i%2 == 1 {
				told = append(told, word)
			}
		}
	}
	list, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	one := strings.NewReplacer("arm64", "amd64", "aarch64", "x86_64")
	made := make(map[string]bool)
	for _, e := range list {
		file := one.Replace(e.Name())
		made[file] = true
		if !slices.Contains(told, file) {
			t.Errorf("README.md does not tell what %s is", e.Name())
		}
	}
	for _, file := range told {
		if !made[file] {
			t.Errorf("README.md tells of %s, which is not there", file)
		}
	}
}

func TestReleasedFiles(t *testing.T) {
	folder, version := released(t)
	want := []string{"LICENSE", "NOTICE", "SHA256SUMS", "SHA256SUMS.sig", "THIRD-PARTY-LICENSES", "nvtop-lite.json", "nvtop-lite-VERSION.cdx.json"}
	for arch, red := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		for _, file := range []string{"-linux-ARCH", "-linux-ARCH-glibc", "-windows-ARCH.exe", "-VERSION-linux-ARCH.tar.gz", "-VERSION-windows-ARCH.zip", "_VERSION-1_ARCH.deb", "-VERSION-1.RED.rpm"} {
			want = append(want, name+strings.NewReplacer("ARCH", arch, "RED", red).Replace(file))
		}
	}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "VERSION", version)
	}
	list, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got, summed []string
	for _, e := range list {
		got = append(got, e.Name())
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		wantMode := os.FileMode(0o644)
		if strings.HasPrefix(e.Name(), name+"-linux") || strings.HasPrefix(e.Name(), name+"-windows") {
			wantMode = 0o755
		}
		if info.Mode() != wantMode {
			t.Errorf("%s has the mode %v", e.Name(), info.Mode())
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("there is %q\nwant %q", got, want)
	}
	for line := range strings.Lines(string(content(t, filepath.Join(folder, sumsFile)))) {
		summed = append(summed, strings.Fields(line)[1])
	}
	if all := slices.DeleteFunc(want, func(f string) bool { return strings.HasPrefix(f, sumsFile) }); !slices.Equal(summed, all) {
		t.Errorf("sums of %q\nwant %q", summed, all)
	}
}

// program is what an executable file of the release must be like.
func isProgram(t *testing.T, what string, text []byte, arch string, kind elf.Type, loader string) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	got := ""
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			path, _ := io.ReadAll(p.Open())
			got = strings.TrimRight(string(path), "\x00")
		}
	}
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]
	if f.Machine != machine || f.Type != kind || got != loader {
		t.Errorf("%s is %v %v with the loader %q, want %v %v %q", what, f.Machine, f.Type, got, machine, kind, loader)
	}
	if f.Section(".symtab") != nil || f.Section(".debug_info") != nil {
		t.Errorf("%s is not stripped", what)
	}
	if text, _ := f.DynValue(elf.DT_TEXTREL); len(text) > 0 {
		t.Errorf("%s has its code changed when it is loaded", what)
	}
}

// runs checks that a program for this machine says its version.
func runs(t *testing.T, text []byte, version string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, want := said(t, file, "--version"), name+" "+version+" ("; !strings.HasPrefix(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
	if got := said(t, file, "--demo", "--once"); !strings.Contains(got, "H100") {
		t.Errorf("the demo is\n%s", got)
	}
}

// host is the architecture of this machine.
func host(t *testing.T) string { return strings.TrimSpace(said(t, "go", "env", "GOHOSTARCH")) }

func TestReleasedArchivesForLinux(t *testing.T) {
	folder, version := released(t)
	for arch, loader := range loaders {
		bare := content(t, filepath.Join(folder, name+"-linux-"+arch))
		isProgram(t, arch, bare, arch, elf.ET_EXEC, "")
		isProgram(t, arch+"-glibc", content(t, filepath.Join(folder, name+"-linux-"+arch+"-glibc")), arch, elf.ET_EXEC, loader)
		top := name + "-" + version + "-linux-" + arch
		packed, err := gzip.NewReader(bytes.NewReader(content(t, filepath.Join(folder, top+".tar.gz"))))
		if err != nil {
			t.Fatal(err)
		}
		files := make(map[string][]byte)
		for r := tar.NewReader(packed); ; {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			text, err2 := io.ReadAll(r)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			files[h.Name] = text
		}
		hasDocs(t, folder, func(file string) []byte { return files[top+"/"+file] })
		for _, file := range []string{"docs/nvtop-lite.1", "completions/nvtop-lite", "completions/_nvtop-lite", "completions/nvtop-lite.fish"} {
			if len(files[top+"/"+file]) == 0 {
				t.Errorf("%s has no %s", arch, file)
			}
		}
		if !bytes.Equal(files[top+"/"+name], bare) {
			t.Errorf("%s: the program in the archive is not the one beside it", arch)
		}
		if arch == host(t) {
			runs(t, files[top+"/"+name], version)
		}
	}
}

// hasDocs checks the texts of an archive.
func hasDocs(t *testing.T, folder string, file func(string) []byte) {
	t.Helper()
	for _, f := range []string{"LICENSE", "NOTICE", "THIRD-PARTY-LICENSES"} {
		if !bytes.Equal(file(f), content(t, filepath.Join(folder, f))) {
			t.Errorf("%s is not the one beside the archive", f)
		}
	}
	texts(t, "the archive", file)
}

// texts checks the texts that are shipped at one place: they have all words of those
// in the tree, and no link that leads nowhere.
func texts(t *testing.T, where string, file func(string) []byte) {
	t.Helper()
	shipped := make(map[string][]byte)
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatal(found, err)
		}
		for _, path := range found {
			f := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			shipped[f] = file(f)
			if got, want := link.ReplaceAll(shipped[f], []byte("$1")), link.ReplaceAll(content(t, path), []byte("$1")); !bytes.Equal(got, want) {
				t.Errorf("%s: %s is not that of the tree", where, f)
			}
		}
	}
	follow(t, where, shipped, func(f string) bool { return len(file(f)) > 0 })
}

func TestReleasedArchivesForWindows(t *testing.T) {
	folder, version := released(t)
	var manifest struct {
		Version, Homepage string
		Architecture      map[string]struct{ URL, Hash string }
	}
	if err := json.Unmarshal(content(t, filepath.Join(folder, "nvtop-lite.json")), &manifest); err != nil {
		t.Fatal(err)
	}
	for arch, scoop := range map[string]string{"amd64": "64bit", "arm64": "arm64"} {
		bare := content(t, filepath.Join(folder, name+"-windows-"+arch+".exe"))
		f, err := pe.NewFile(bytes.NewReader(bare))
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]uint16{"amd64": pe.IMAGE_FILE_MACHINE_AMD64, "arm64": pe.IMAGE_FILE_MACHINE_ARM64}[arch]; f.Machine != want {
			t.Errorf("%s is for %#x", arch, f.Machine)
		}
		var key []byte // the version among the resources
		for _, unit := range utf16.Encode([]rune("ProductVersion\x00" + version + "\x00")) {
			key = append(key, byte(unit), byte(unit>>8))
		}
		rsrc, err := f.Section(".rsrc").Data()
		if err != nil || !bytes.Contains(rsrc, key) {
			t.Errorf("%s: the resources do not tell version %s, %v", arch, version, err)
		}
		file := name + "-" + version + "-windows-" + arch + ".zip"
		packed := content(t, filepath.Join(folder, file))
		z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		if err != nil {
			t.Fatal(err)
		}
		read := func(file string) []byte {
			text, err := z.Open(file)
			if err != nil {
				t.Error(err)
				return nil
			}
			all, err := io.ReadAll(text)
			if err != nil {
				t.Error(err)
			}
			return all
		}
		hasDocs(t, folder, read)
		if !bytes.Equal(read(name+".exe"), bare) || len(read("completions/nvtop-lite.ps1")) == 0 {
			t.Errorf("%s: the archive does not have the program and its completions", arch)
		}
		if m := manifest.Architecture[scoop]; m.URL != os.Getenv(releaseURL)+"/"+file || m.Hash != sum(packed) {
			t.Errorf("Scoop is told %+v", m)
		}
	}
	if manifest.Version != version || manifest.Homepage != os.Getenv(releaseURL) {
		t.Errorf("Scoop is told version %s, homepage %s", manifest.Version, manifest.Homepage)
	}
}

func TestReleasedPackages(t *testing.T) {
	folder, version := released(t)
	for arch, red := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		deb := filepath.Join(folder, name+"_"+version+"-1_"+arch+".deb")
		if got, want := said(t, "dpkg-deb", "-f", deb, "Package", "Version", "Architecture", "Depends", "Pre-Depends", "Recommends"),
			"Package: nvtop-lite\nVersion: "+version+"-1\nArchitecture: "+arch+"\nDepends: libc6\n"; got != want {
			t.Errorf("the .deb says\n%swant\n%s", got, want)
		}
		dir := t.TempDir()
		said(t, "dpkg-deb", "-x", deb, dir)
		text := content(t, filepath.Join(dir, "usr", "bin", name))
		isProgram(t, deb, text, arch, elf.ET_DYN, loaders[arch])
		if arch == host(t) {
			runs(t, text, version)
		}
		listed := said(t, "dpkg-deb", "-c", deb)
		has(t, deb, listed, "-rwxr-xr-x root/root", "/usr/bin/nvtop-lite")
		for _, file := range []string{"man/man1/nvtop-lite.1.gz", "bash-completion/completions/nvtop-lite", "zsh/vendor-completions/_nvtop-lite", "fish/vendor_completions.d/nvtop-lite.fish", "doc/nvtop-lite/copyright", "doc/nvtop-lite/changelog.Debian.gz", "doc/nvtop-lite/README.md"} {
			has(t, deb, listed, "-rw-r--r-- root/root", "/usr/share/"+file)
		}
		doc := filepath.Join(dir, "usr", "share", "doc", name)
		texts(t, deb, func(file string) []byte {
			text, _ := os.ReadFile(filepath.Join(doc, filepath.FromSlash(file)))
			return text
		})
		packed, err := gzip.NewReader(bytes.NewReader(content(t, filepath.Join(doc, "changelog.Debian.gz"))))
		if err != nil {
			t.Fatal(err)
		}
		changes, err := io.ReadAll(packed)
		if want := regexp.MustCompile(`^nvtop-lite \(` + regexp.QuoteMeta(version) + `-1\) unstable; urgency=medium\n\n  \* .+\n\n -- the nvtop-lite authors <>  \w{3}, \d\d \w{3} \d{4} [0-9:]{8} \+0000\n$`); err != nil || !want.Match(changes) {
			t.Errorf("the changelog of the .deb is\n%s%v", changes, err)
		}
		copyright := string(content(t, filepath.Join(dir, "usr", "share", "doc", name, "copyright")))
		for _, f := range []string{"LICENSE", "NOTICE", "THIRD-PARTY-LICENSES"} {
			if !strings.Contains(copyright, string(content(t, filepath.Join(folder, f)))) {
				t.Errorf("%s: copyright lacks %s", deb, f)
			}
		}

		rpm := filepath.Join(folder, name+"-"+version+"-1."+red+".rpm")
		if got, want := said(t, "rpm", "-qp", "--queryformat", "%{NAME} %{VERSION} %{RELEASE} %{ARCH} %{LICENSE} %{BUILDHOST} [%{REQUIRENAME} ][%{RECOMMENDNAME} ]", rpm),
			name+" "+version+" 1 "+red+" MIT localhost libc.so.6()(64bit) "; got != want {
			t.Errorf("the .rpm says %q, want %q", got, want)
		}
		if got := said(t, "rpm", "-K", "--nosignature", rpm); !strings.Contains(got, "digests OK") {
			t.Error(got)
		}
		has(t, rpm, said(t, "rpm", "-qp", "--queryformat", "[%{FILENAMES} %{FILEMODES:perms} %{FILEUSERNAME}:%{FILEGROUPNAME} %{FILEDIGESTS}\n]", rpm), "/usr/bin/nvtop-lite -rwxr-xr-x root:root "+sum(text))
		for _, file := range []string{"README.md", "docs/testing.md"} { // as in the .deb, whose links were followed
			has(t, rpm, said(t, "rpm", "-qp", "--queryformat", "[%{FILENAMES} %{FILEDIGESTS}\n]", rpm), "/usr/share/doc/"+name+"/"+file+" "+sum(content(t, filepath.Join(doc, filepath.FromSlash(file)))))
		}
		listed = said(t, "rpm", "-qlvp", rpm)
		for _, file := range []string{"man/man1/nvtop-lite.1.gz", "bash-completion/completions/nvtop-lite", "zsh/site-functions/_nvtop-lite", "fish/vendor_completions.d/nvtop-lite.fish", "doc/nvtop-lite/README.md"} {
			has(t, rpm, listed, "-rw-r--r--", "/usr/share/"+file)
		}
		for _, folder := range []string{"doc/nvtop-lite", "doc/nvtop-lite/docs", "licenses/nvtop-lite"} { // else they stay when it is removed
			has(t, rpm, listed, "drwxr-xr-x", "/usr/share/"+folder+"\n")
		}
		if got, want := said(t, "rpm", "-qp", "--licensefiles", rpm), "/usr/share/licenses/nvtop-lite/LICENSE\n/usr/share/licenses/nvtop-lite/NOTICE\n/usr/share/licenses/nvtop-lite/THIRD-PARTY-LICENSES\n"; got != want {
			t.Errorf("the licences of the .rpm are\n%s", got)
		}
	}
}

// has checks that one line of a list has all of these.
func has(t *testing.T, what, list string, words ...string) {
	t.Helper()
	for line := range strings.Lines(list) {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			return
		}
	}
	t.Errorf("%s: no line with %q in\n%s", what, words, list)
}

// TestReleasedBillOfMaterials: each program is there with its sum, and on what it
// depends.
func TestReleasedBillOfMaterials(t *testing.T) {
	folder, version := released(t)
	var bom struct {
		BOMFormat, SpecVersion, SerialNumber string
		Components                           []struct {
			Ref                 string `json:"bom-ref"`
			Type, Name, Version string
			Hashes              []struct{ Alg, Content string }
			Licenses            []struct{ License struct{ ID string } }
		}
		Dependencies []struct {
			Ref       string
			DependsOn []string
		}
	}
	if err := json.Unmarshal(content(t, filepath.Join(folder, name+"-"+version+".cdx.json")), &bom); err != nil {
		t.Fatal(err)
	}
	if bom.BOMFormat != "CycloneDX" || bom.SpecVersion != "1.6" || bom.SerialNumber != "" {
		t.Errorf("%s %s %s", bom.BOMFormat, bom.SpecVersion, bom.SerialNumber)
	}
	needs := make(map[string]string)
	for _, d := range bom.Dependencies {
		needs[d.Ref] = strings.Join(d.DependsOn, " ")
	}
	modules := regexp.MustCompile(`(?m)^\t(\S+) (v\S+)$`).FindAllStringSubmatch(string(content(t, filepath.Join("..", "..", "go.mod"))), -1)
	if len(modules) != 4 {
		t.Fatalf("go.mod requires %q", modules)
	}
	programs := 0
	for _, c := range bom.Components {
		if c.Type != "file" {
			if c.Licenses[0].License.ID == "" || c.Version == "" {
				t.Errorf("%+v", c)
			}
			continue
		}
		programs++
		for _, m := range modules {
			if ref := "pkg:golang/" + m[1] + "@" + m[2]; !strings.Contains(needs[c.Ref]+" ", ref+" ") {
				t.Errorf("%s does not depend on %s: %s", c.Name, ref, needs[c.Ref])
			}
		}
		text, err := os.ReadFile(filepath.Join(folder, c.Name))
		if arch, found := strings.CutSuffix(strings.TrimPrefix(c.Name, name+"-linux-"), "-pie"); found {
			dir := t.TempDir()
			said(t, "dpkg-deb", "-x", filepath.Join(folder, name+"_"+version+"-1_"+arch+".deb"), dir)
			text, err = os.ReadFile(filepath.Join(dir, "usr", "bin", name))
		}
		if err != nil || len(c.Hashes) != 1 || c.Hashes[0].Content != sum(text) {
			t.Errorf("%s has the sums %v, %v", c.Name, c.Hashes, err)
		}
	}
	if programs != 8 {
		t.Errorf("%d programs", programs)
	}
}
