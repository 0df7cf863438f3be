package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom lists what each program was made of, as the program itself has it written.
func (b *builder) sbom() error {
	whole := cdx.Component{BOMRef: name, Type: cdx.ComponentTypeApplication, Name: name, Version: b.version, Licenses: licensed("MIT"), PackageURL: "pkg:generic/" + name + "@" + b.version}
	var files, libraries []cdx.Component
	var on []cdx.Dependency
	for _, m := range b.licences {
		libraries = append(libraries, cdx.Component{
			BOMRef: m.reference(), Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version,
			Scope: cdx.ScopeRequired, Licenses: licensed(m.licence), PackageURL: m.reference(),
		})
		on = append(on, cdx.Dependency{Ref: m.reference()})
	}
	var parts []string
	for _, p := range b.programs {
		file := filepath.Base(p.path)
		sum, err := sumOf(p.path)
		if err != nil {
			return err
		}
		info, err := buildinfo.ReadFile(p.path)
		if err != nil {
			return err
		}
		needs := []string{b.licences[0].reference()}
		for _, d := range info.Deps {
			i := slices.IndexFunc(b.licences, func(m module) bool { return m.path == d.Path && m.version == d.Version })
			if i < 0 {
				return fmt.Errorf("%s has %s %s in it, whose licence was not taken along", file, d.Path, d.Version)
			}
			needs = append(needs, b.licences[i].reference())
		}
		properties := []cdx.Property{{Name: "kind", Value: p.kind}, {Name: "go", Value: info.GoVersion}}
		for _, s := range info.Settings {
			properties = append(properties, cdx.Property{Name: "go build: " + s.Key, Value: s.Value})
		}
		files = append(files, cdx.Component{
			BOMRef: file, Type: cdx.ComponentTypeFile, Name: file, Version: b.version, Licenses: licensed("MIT"),
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}, Properties: &properties,
		})
		on = append(on, cdx.Dependency{Ref: file, Dependencies: &needs})
		parts = append(parts, file)
	}
	all := append(files, libraries...)
	on = append([]cdx.Dependency{{Ref: name, Dependencies: &parts}}, on...)
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: b.time.Format(time.RFC3339), Component: &whole}
	bom.Components, bom.Dependencies = &all, &on
	var text bytes.Buffer
	if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(bom); err != nil {
		return err
	}
	return b.write(name+"-"+b.version+".cdx.json", text.Bytes(), 0o644)
}

// reference is the package URL of a module.
func (m module) reference() string { return "pkg:golang/" + m.path + "@" + m.version }

func licensed(id string) *cdx.Licenses {
	return &cdx.Licenses{{License: &cdx.License{ID: id}}}
}
