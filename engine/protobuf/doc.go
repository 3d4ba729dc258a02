// Package protobuf reads watches of Kubernetes' own kinds in Protobuf, which costs the API server
// less than JSON: it encodes each event once for all watches of the same format, and Kubernetes'
// own controllers use Protobuf.
//
// A Reader turns the events into JSON text for package decode. It leaves out what the rules do not
// read, without looking at it. The names and types of fields come from the Go types of k8s.io/api.
// A newer API server may send fields that these do not have. If rules may read such a field, the
// Reader gives up, and the watch must use JSON.
//
// The encoding is that of runtime/serializer/protobuf in k8s.io/apimachinery.
package protobuf
