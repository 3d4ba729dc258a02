package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// small is a binary that is quick to pack.
func small(system, arch string) binary {
	return binary{
		os: system, arch: arch, version: "1.2.3", commit: "abc", time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		modules: []*debug.Module{{Path: "example.com/a", Version: "v1.0.0"}}, content: []byte("#!/bin/sh\necho it runs\n"), helpers: map[string][]byte{"reconcel-convert": []byte("#!/bin/sh\n"), "reconcel-mcp": []byte("#!/bin/sh\n")},
	}
}

// TestKrewInstalls installs the plugin with krew itself, on each platform.
func TestKrewInstalls(t *testing.T) {
	krew := filepath.Join(t.TempDir(), "krew")
	if out, err := exec.Command("go", "build", "-o", krew, "sigs.k8s.io/krew/cmd/krew").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	folder := t.TempDir()
	var archives []archive
	for platform := range strings.SplitSeq(everywhere, ",") {
		system, arch, _ := strings.Cut(platform, "/")
		a, err := pack(folder, small(system, arch), []byte("license"))
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, a)
	}
	manifest := filepath.Join(folder, "reconcel.yaml")
	if err := os.WriteFile(manifest, pluginManifest("1.2.3", "https://example.com/v1.2.3", archives), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, a := range archives {
		root := t.TempDir()
		install := exec.Command(krew, "install", "--manifest="+manifest, "--archive="+filepath.Join(folder, a.name))
		install.Env = append(os.Environ(), "KREW_ROOT="+root, "KREW_OS="+a.os, "KREW_ARCH="+a.arch, "KREW_NO_UPGRADE_CHECK=1")
		if out, err := install.CombinedOutput(); err != nil {
			t.Errorf("%s/%s: %v: %s", a.os, a.arch, err, out)
			continue
		}
		if a.os == runtime.GOOS && a.arch == runtime.GOARCH {
			out, err := exec.Command(filepath.Join(root, "bin", "kubectl-reconcel")).Output()
			if err != nil || string(out) != "it runs\n" {
				t.Errorf("the installed plugin: %v, %q", err, out)
			}
		}
	}
}

// TestImageIsSound validates the layout, its images and all digests.
func TestImageIsSound(t *testing.T) {
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := writeImage(file, []binary{small("linux", "amd64"), small("darwin", "arm64"), small("linux", "arm64")}); err != nil {
		t.Fatal(err)
	}
	root, err := layout.ImageIndexFromPath(unpack(t, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(root); err != nil {
		t.Fatal(err)
	}
	outer, err := root.IndexManifest()
	if err != nil || len(outer.Manifests) != 1 {
		t.Fatalf("%v, %v", outer, err)
	}
	index, err := root.ImageIndex(outer.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := index.IndexManifest()
	if err != nil || len(inner.Manifests) != 2 {
		t.Fatalf("%v, %v", inner, err)
	}
	for i, arch := range []string{"amd64", "arm64"} {
		image, err := index.Image(inner.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil || config.Architecture != arch || config.Config.User != "65532:65532" || inner.Manifests[i].Platform.Architecture != arch {
			t.Errorf("%s: %+v, %v", arch, config, err)
		}
	}
	if roots := certificates(); bytes.Count(roots, []byte("BEGIN CERTIFICATE")) < 50 {
		t.Errorf("%d bytes of certificates", len(roots))
	}
}

// unpack extracts a tar archive.
func unpack(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	folder := t.TempDir()
	for r := tar.NewReader(f); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return folder
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, header.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBillOfMaterials validates the SBOM with CycloneDX's schema, and reads what its
// library decodes.
func TestBillOfMaterials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sbom.json")
	if err := writeBillOfMaterials(file, small("linux", "amd64")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := bomSchema(t).Validate(document); err != nil {
		t.Error(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var all cdx.BOM
	if err := decoder.Decode(&all); err != nil {
		t.Fatal(err)
	}
	if c := *all.Components; len(c) != 1 || c[0].PackageURL != "pkg:golang/example.com/a@v1.0.0" || all.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("got %s", text)
	}
}

// bomSchema compiles the schema of CycloneDX, which the module of its library contains.
func bomSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	const base = "http://cyclonedx.org/schema/"
	c := jsonschema.NewCompiler()
	for name, file := range map[string]string{
		"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json",
	} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "schema", file))
		if err != nil {
			t.Fatal(err)
		}
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(base+name, schema); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := c.Compile(base + "bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestChartHasTheVersion packs the chart of the sources.
func TestChartHasTheVersion(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chart.tgz")
	if err := writeChart("../../deploy/chart", file, small("linux", "amd64")); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("tar", "-xzOf", file, "reconcel/Chart.yaml").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\nversion: 1.2.3\nappVersion: 1.2.3\n") {
		t.Errorf("%v: %s", err, out)
	}
}
