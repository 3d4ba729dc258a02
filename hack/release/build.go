package main

import (
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// helpers are the programs beside reconcel in an archive, by the folder of their module.
var helpers = map[string]string{"convert": "reconcel-convert", "mcp": "reconcel-mcp"}

// A binary is reconcel for one platform, with what its build information says, and its helpers.
type binary struct {
	os, arch string
	version  string // without the leading v
	commit   string
	time     time.Time // of the commit
	modules  []*debug.Module
	content  []byte
	helpers  map[string][]byte // by name
}

// fileName returns the name of a program on the platform.
func (b binary) fileName(program string) string {
	if b.os == "windows" {
		return program + ".exe"
	}
	return program
}

// compile builds the program in a folder of the sources.
func (b binary) compile(folder, file string) error {
	compile := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", file, ".")
	compile.Dir, compile.Stderr = folder, os.Stderr
	compile.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+b.os, "GOARCH="+b.arch, "GOWORK=off")
	if err := compile.Run(); err != nil {
		return fmt.Errorf("%s/%s: build %s: %w", b.os, b.arch, folder, err)
	}
	return nil
}

// build compiles reconcel for a platform such as linux/amd64.
func build(sources, work, platform string) (b binary, err error) {
	var ok bool
	if b.os, b.arch, ok = strings.Cut(platform, "/"); !ok {
		return b, fmt.Errorf("platform %q: expected one such as linux/amd64", platform)
	}
	file := filepath.Join(work, b.os+"-"+b.arch)
	if err := b.compile(sources, file); err != nil {
		return b, err
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return b, err
	}
	b.version, b.modules = strings.TrimPrefix(info.Main.Version, "v"), info.Deps
	if err := b.addHelpers(sources, file); err != nil {
		return b, err
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.commit = s.Value
		case s.Key == "vcs.time":
			b.time, err = time.Parse(time.RFC3339, s.Value)
		case s.Key == "vcs.modified" && s.Value == "true":
			err = fmt.Errorf("%s has changes that are not committed: a release is of a commit", sources)
		}
		if err != nil {
			return b, err
		}
	}
	if b.commit == "" {
		return b, fmt.Errorf("%s: go cannot tell the commit there: build in a clone of the repository", sources)
	}
	b.content, err = os.ReadFile(file)
	return b, err
}

// addHelpers compiles the helpers. The modules that only they have count as well.
func (b *binary) addHelpers(sources, file string) error {
	b.helpers = map[string][]byte{}
	for _, folder := range slices.Sorted(maps.Keys(helpers)) {
		helper := file + "-" + folder
		if err := b.compile(filepath.Join(sources, folder), helper); err != nil {
			return err
		}
		info, err := buildinfo.ReadFile(helper)
		if err != nil {
			return err
		}
		for _, m := range info.Deps {
			has := func(other *debug.Module) bool { return other.Path == m.Path && other.Version == m.Version }
			if m.Path != "reconcel" && !slices.ContainsFunc(b.modules, has) {
				b.modules = append(b.modules, m)
			}
		}
		if b.helpers[helpers[folder]], err = os.ReadFile(helper); err != nil {
			return err
		}
	}
	return nil
}
