// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// bill writes the software bill of materials of a platform's programs, in CycloneDX's JSON: every
// module that is in them, as the Go tool recorded it, with its checksum.
func (r *release) bill(p platform, programs map[string]string) error {
	modules := map[string]cdx.Component{}
	var goRelease string
	for _, file := range programs {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return err
		}
		goRelease = info.GoVersion
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version}
			c.PackageURL = "pkg:golang/" + m.Path + "@" + m.Version
			c.BOMRef = c.PackageURL
			if sum, ok := strings.CutPrefix(m.Sum, "h1:"); ok { // SHA-256 of the module's files, in base64
				raw, err := base64.StdEncoding.DecodeString(sum)
				if err != nil {
					return err
				}
				c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
			}
			modules[c.BOMRef] = c
		}
	}
	modules["go"] = cdx.Component{
		BOMRef: "go", Type: cdx.ComponentTypePlatform, Name: "go", Version: strings.TrimPrefix(goRelease, "go"),
		PackageURL: "pkg:golang/std@" + strings.TrimPrefix(goRelease, "go"),
	}
	var components []cdx.Component
	for _, ref := range slices.Sorted(maps.Keys(modules)) {
		components = append(components, modules[ref])
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.date.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: "privacy-accountant", Type: cdx.ComponentTypeApplication,
			Name: "privacy-accountant", Version: r.version,
			Properties: &[]cdx.Property{{Name: "commit", Value: r.commit},
				{Name: "platform", Value: p.goos + "/" + p.goarch}},
		},
	}
	bom.Components = &components
	return writeFile(filepath.Join(r.dist, r.name(p)+".cdx.json"), func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
