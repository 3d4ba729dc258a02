// Package protobuf reads Kubernetes' own kinds in Protobuf, which costs the API server less than
// JSON: it encodes each event once for all watches of the same format, and Kubernetes'
// own controllers use Protobuf.
//
// A Reader turns objects and events into JSON text for package decode. It leaves out what the rules
// do not read, without looking at it. The names and types of fields come from the Go types of
// k8s.io/api. A newer API server may send fields that these types lack. If rules may read such a
// field, the Reader gives up, and JSON must be asked for.
//
// Of an older API server, JSON may have a null or an empty value that Protobuf and this package do
// not have, such as the null creationTimestamp that pod templates used to have. So a kind is
// read in one format: its lists, its events and the answers to writes.
//
// The encoding is that of runtime/serializer/protobuf in k8s.io/apimachinery.
package protobuf
