// Release builds what a release of reconcel has, into a folder:
//
//   - an archive with reconcel, reconcel-convert and reconcel-mcp, static binaries, for each platform
//   - the Helm chart, packed
//   - an OCI image layout for linux, packed, that skopeo and crane can push
//   - a manifest for krew, the package manager of kubectl's plugins
//   - an SBOM in the format of CycloneDX
//   - SHA256SUMS of all of them
//
// The same commit, Go and flags give the same bytes: every time in the files is the time
// of the commit. Nothing is fetched besides Go modules.
package main
