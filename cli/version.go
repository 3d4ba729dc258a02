package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/settings"
)

// A version is the build information of this binary.
type version struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	Date       string `json:"date,omitempty"`     // of the commit, in RFC 3339
	Modified   bool   `json:"modified,omitempty"` // built from modified sources
	Go         string `json:"go"`
	Platform   string `json:"platform"`
	Kubernetes string `json:"kubernetes"` // version of the client library
}

// builtFrom reads the build information of the binary, which needs no build flags.
func builtFrom() version {
	v := version{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Kubernetes: "unknown"}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if build.Main.Version != "" {
		v.Version = build.Main.Version
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	for _, module := range build.Deps {
		if module.Path == "k8s.io/client-go" {
			v.Kubernetes = module.Version
		}
	}
	return v
}

func (v version) String() string {
	s := "reconcel " + v.Version + "\n"
	if v.Commit != "" {
		s += "commit " + v.Commit
		if v.Date != "" {
			s += " of " + v.Date
		}
		if v.Modified {
			s += " (modified)"
		}
		s += "\n"
	}
	return s + fmt.Sprintf("%s %s\nk8s.io/client-go %s\n", v.Go, v.Platform, v.Kubernetes)
}

// A versionCommand prints versions.
type versionCommand struct{ out *printer }

func (c versionCommand) command() *cobra.Command {
	format := settings.Choice("text", "json", "yaml")
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of reconcel, Go and the Kubernetes client library",
		Example: `  reconcel version -o json`,
		Args:    flagsOnly,
		RunE: func(*cobra.Command, []string) error {
			v := builtFrom()
			switch format.Value {
			case "json":
				return c.out.printJSON(v)
			case "yaml":
				return c.out.printYAML(v)
			}
			return c.out.print([]byte(v.String()))
		},
	}
	outputFlag(cmd.Flags(), format)
	return cmd
}
