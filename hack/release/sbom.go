package main

import (
	"bytes"
	"os"
	"runtime/debug"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeBillOfMaterials writes the modules in a binary in the format of CycloneDX.
func writeBillOfMaterials(file string, b binary) error {
	main := component(&debug.Module{Path: "reconcel", Version: "v" + b.version})
	main.Type = cdx.ComponentTypeApplication
	all := cdx.NewBOM()
	all.Metadata = &cdx.Metadata{Timestamp: b.time.UTC().Format(time.RFC3339), Component: &main}
	var components []cdx.Component
	var direct []string
	for _, m := range b.modules {
		c := component(m)
		components, direct = append(components, c), append(direct, c.BOMRef)
	}
	all.Components = &components
	all.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &direct}}
	var text bytes.Buffer
	encoder := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(all, cdx.SpecVersion1_6); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}

func component(m *debug.Module) cdx.Component {
	if m.Replace != nil {
		m = m.Replace
	}
	url := "pkg:golang/" + m.Path + "@" + m.Version
	return cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: m.Path, Version: m.Version, PackageURL: url}
}
