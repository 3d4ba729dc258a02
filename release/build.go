package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// A binary is reconcel for one platform, with what its build information says.
type binary struct {
	os, arch string
	version  string // without the leading v
	commit   string
	time     time.Time // of the commit
	modules  []*debug.Module
	content  []byte
}

// fileName returns the name of the binary on its platform.
func (b binary) fileName() string {
	if b.os == "windows" {
		return "reconcel.exe"
	}
	return "reconcel"
}

// build compiles reconcel for a platform such as linux/amd64.
func build(sources, work, platform string) (b binary, err error) {
	var ok bool
	if b.os, b.arch, ok = strings.Cut(platform, "/"); !ok {
		return b, fmt.Errorf("platform %q: expected one such as linux/amd64", platform)
	}
	file := filepath.Join(work, b.os+"-"+b.arch)
	compile := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", file, ".")
	compile.Dir, compile.Stderr = sources, os.Stderr
	compile.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+b.os, "GOARCH="+b.arch, "GOWORK=off")
	if err := compile.Run(); err != nil {
		return b, fmt.Errorf("%s: build: %w", platform, err)
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return b, err
	}
	b.version, b.modules = strings.TrimPrefix(info.Main.Version, "v"), info.Deps
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
