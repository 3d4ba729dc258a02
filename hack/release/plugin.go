package main

import (
	"bytes"
	"fmt"
)

// pluginManifest returns the manifest with which krew installs reconcel as a plugin of
// kubectl. Its name in the index is the name of the file.
func pluginManifest(version, url string, archives []archive) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: reconcel
spec:
  version: v%s
  homepage: %s
  shortDescription: Check, test and explain rules of reconcel
  description: |
    reconcel is a Kubernetes controller that is driven by rules. The plugin checks and
    tests rules, shows what they would change, and explains what they have done.
  platforms:
`, version, url)
	for _, a := range archives {
		fmt.Fprintf(&b, `  - selector:
      matchLabels:
        os: %s
        arch: %s
    uri: %s/%s
    sha256: %s
    bin: %s
`, a.os, a.arch, url, a.name, a.sum, a.fileName("reconcel"))
	}
	return b.Bytes()
}
