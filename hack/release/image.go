package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// writeImage writes an image for each binary for linux, as an OCI image layout in a tar
// archive. The images equal those of the Dockerfile, with the certificates of Mozilla.
func writeImage(file string, binaries []binary) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var first binary
	for _, b := range binaries {
		if b.os != "linux" {
			continue
		}
		image, err := imageOf(b)
		if err != nil {
			return err
		}
		first = b
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.os, Architecture: b.arch}}})
	}
	if first.os == "" {
		return nil
	}
	folder, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	target, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	named := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": first.version})
	if err := target.AppendIndex(index, named); err != nil {
		return err
	}
	entries, err := readFolder(folder)
	if err != nil {
		return err
	}
	text, err := tarred(entries, first.time)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// imageOf returns the image of one platform.
func imageOf(b binary) (v1.Image, error) {
	files, err := tarred([]entry{{"etc/ssl/certs/ca-certificates.crt", 0o644, certificates()},
		{"reconcel", 0o755, b.content}}, b.time)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)),
			nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer,
		History: v1.History{Created: v1.Time{Time: b.time}, CreatedBy: "make release"}}); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = b.os, b.arch, v1.Time{Time: b.time}
	config.Config.Entrypoint, config.Config.User = []string{"/reconcel"}, "65532:65532"
	config.Config.Labels = map[string]string{"org.opencontainers.image.version": b.version,
		"org.opencontainers.image.revision": b.commit}
	return mutate.ConfigFile(image, config)
}

// certificates returns the roots that Mozilla trusts.
func certificates() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // A buffer takes everything.
	}
	return all.Bytes()
}
