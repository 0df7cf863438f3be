package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// scoop fills in the manifest for Scoop, where the address of the files is known.
func (b *builder) scoop() error {
	const file = name + ".json"
	if b.url == "" {
		fmt.Printf("no %s for Scoop: NVTOP_LITE_URL does not say where the files will lie\n", file)
		return nil
	}
	text, err := os.ReadFile(filepath.Join(b.root, "packaging", "scoop", file))
	if err != nil {
		return err
	}
	words := []string{"@VERSION@", b.version, "@HOMEPAGE@", b.home}
	for _, arch := range architectures {
		archive := b.archive("windows", arch)
		sum, err := sumOf(filepath.Join(b.out, archive))
		if err != nil {
			return err
		}
		words = append(words, "@URL_"+strings.ToUpper(arch)+"@", b.url+"/"+archive, "@SHA256_"+strings.ToUpper(arch)+"@", sum)
	}
	return b.write(file, []byte(strings.NewReplacer(words...).Replace(string(text))), 0o644)
}
