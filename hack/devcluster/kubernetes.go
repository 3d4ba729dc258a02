package main

import (
	"cmp"
	"embed"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// envKubernetes selects the minor of Kubernetes to compile and run, such as 1.37. The
// newest one is the default.
const envKubernetes = "DEVCLUSTER_KUBERNETES"

// modFiles pin a version of each minor: hack/pin-kubernetes.sh writes them, and this
// tool runs those that exist.
//
//go:embed kubernetes/*.mod
var modFiles embed.FS

// release is a version of Kubernetes.
type release struct {
	minor   string // 1.37
	version string // v1.37.2
}

// newRelease returns the release of a version such as v1.37.2.
func newRelease(version string) release {
	number := strings.TrimPrefix(version, "v")
	return release{minor: number[:strings.LastIndex(number, ".")], version: version}
}

// modFile returns the file that pins it, relative to the folder of this module.
func (r release) modFile() string { return path.Join("kubernetes", r.minor+".mod") }

// ldflags returns the linker flags that set the version of the binary, as Kubernetes'
// own build does. Clients read this version.
func (r release) ldflags() string {
	major, minor, _ := strings.Cut(r.minor, ".")
	var flags strings.Builder
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, set := range []string{"gitVersion=" + r.version, "gitMajor=" + major, "gitMinor=" + minor,
			"gitTreeState=clean"} {
			flags.WriteString(" -X " + pkg + "." + set)
		}
	}
	return flags.String()
}

var requirement = regexp.MustCompile(`(?m)^\s*(?:require )?k8s\.io/kubernetes (v\d+\.\d+\.\d+)$`)

// releases returns the pinned versions, the oldest first.
func releases() ([]release, error) {
	files, err := modFiles.ReadDir("kubernetes")
	if err != nil {
		return nil, err
	}
	found := make([]release, 0, len(files))
	for _, file := range files {
		text, err := modFiles.ReadFile(path.Join("kubernetes", file.Name()))
		if err != nil {
			return nil, err
		}
		match := requirement.FindSubmatch(text)
		if match == nil {
			return nil, fmt.Errorf("kubernetes/%s requires no version of k8s.io/kubernetes", file.Name())
		}
		r := newRelease(string(match[1]))
		if r.minor+".mod" != file.Name() {
			return nil, fmt.Errorf("kubernetes/%s requires %s: its name should be %s.mod", file.Name(), r.version, r.minor)
		}
		found = append(found, r)
	}
	slices.SortFunc(found, func(a, b release) int { return compareMinors(a.minor, b.minor) })
	return found, nil
}

// runVersions prints the pinned versions, the oldest first.
func runVersions(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%w: versions takes no arguments", errUsage)
	}
	all, err := releases()
	if err != nil {
		return err
	}
	for _, r := range all {
		fmt.Println(r.minor, r.version)
	}
	return nil
}

// selectedRelease returns the release to compile and run: that of the environment, or
// the newest one.
func selectedRelease() (release, error) {
	all, err := releases()
	if err != nil {
		return release{}, err
	}
	minor := os.Getenv(envKubernetes)
	if minor == "" {
		return all[len(all)-1], nil
	}
	i := slices.IndexFunc(all, func(r release) bool { return r.minor == minor })
	if i < 0 {
		minors := make([]string, len(all))
		for i, r := range all {
			minors[i] = r.minor
		}
		return release{}, fmt.Errorf("%w: %s=%s: there is no such version of Kubernetes, only %s", errUsage, envKubernetes,
			minor, strings.Join(minors, ", "))
	}
	return all[i], nil
}

// compareMinors compares two minors by number: 1.9 is older than 1.10.
func compareMinors(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return cmp.Compare(x, y)
	})
}
