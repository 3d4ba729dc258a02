package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// everywhere are the platforms of a release.
const everywhere = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

func main() {
	sources := flag.String("sources", "../..", "`folder` of reconcel's sources")
	to := flag.String("o", "", "`folder` to write to, which is created and must be empty")
	platforms := flag.String("platforms", everywhere, "platforms to build for")
	url := flag.String("url", "https://example.com/reconcel", "`URL` of the folder from which krew downloads the archives")
	flag.Parse()
	if err := release(*sources, *to, *url, strings.Split(*platforms, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// release builds all files of a release.
func release(sources, to, url string, platforms []string) error {
	if to == "" {
		return errors.New("no folder: give one with -o")
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if found, err := os.ReadDir(to); err != nil || len(found) > 0 {
		return errors.Join(err, fmt.Errorf("%s is not empty: remove it first", to))
	}
	work, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var binaries []binary
	for _, platform := range platforms {
		b, err := build(sources, work, platform)
		if err != nil {
			return err
		}
		binaries = append(binaries, b)
	}
	first := binaries[0]
	license, err := os.ReadFile(filepath.Join(sources, "LICENSE"))
	if err != nil {
		return err
	}
	var archives []archive
	for _, b := range binaries {
		a, err := pack(to, b, license)
		if err != nil {
			return err
		}
		archives = append(archives, a)
	}
	name := func(suffix string) string { return filepath.Join(to, "reconcel-"+first.version+suffix) }
	if err := errors.Join(
		writeChart(filepath.Join(sources, "deploy", "chart"), name(".tgz"), first),
		writeImage(name("-image.tar"), binaries),
		writeBillOfMaterials(name(".cdx.json"), first),
		os.WriteFile(filepath.Join(to, "reconcel.yaml"), pluginManifest(first.version, url, archives), 0o644),
	); err != nil {
		return err
	}
	return writeSums(to)
}
