package recorder

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// withheld replaces the values of Secrets by digests: equal values have equal digests. The key is nowhere but in the memory of
// this process, so the value of a digest cannot be looked up.
type withheld struct{ key []byte }

func newWithheld() *withheld {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // It never fails.
	return &withheld{key}
}

// value returns the digest of a value, in base64 as the data of a Secret.
func (w *withheld) value(text string) string {
	sum := hmac.New(sha256.New, w.key)
	_, _ = sum.Write([]byte(text)) // It never fails.
	return base64.StdEncoding.EncodeToString([]byte("withheld-" + hex.EncodeToString(sum.Sum(nil)[:8])))
}

// transform changes a Secret, and no other object.
func (w *withheld) transform(item any) (any, error) {
	u, ok := item.(*unstructured.Unstructured)
	if !ok || u.GroupVersionKind().GroupKind() != (runtimeschema.GroupKind{Kind: "Secret"}) {
		return item, nil
	}
	u = u.DeepCopy()
	data, _ := u.Object["data"].(map[string]any)
	for key, value := range data {
		text, _ := value.(string)
		data[key] = w.value(text)
	}
	annotations := u.GetAnnotations()
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration") // It repeats the values.
	u.SetAnnotations(annotations)
	return u, nil
}

// client returns a client that reads no values of Secrets.
func (w *withheld) client(live dynamic.Interface) dynamic.Interface { return reader{live, w} }

type reader struct {
	dynamic.Interface
	*withheld
}

// Resource implements dynamic.Interface.
func (r reader) Resource(gvr runtimeschema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return readerOf{r.Interface.Resource(gvr), nil, r.withheld}
}

// A readerOf reads objects of one kind, in one namespace if in is not nil.
type readerOf struct {
	dynamic.NamespaceableResourceInterface
	in dynamic.ResourceInterface
	*withheld
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (r readerOf) Namespace(namespace string) dynamic.ResourceInterface {
	r.in = r.NamespaceableResourceInterface.Namespace(namespace)
	return r
}

func (r readerOf) from() dynamic.ResourceInterface {
	if r.in != nil {
		return r.in
	}
	return r.NamespaceableResourceInterface
}

// Get implements dynamic.ResourceInterface.
func (r readerOf) Get(ctx context.Context, name string, o metav1.GetOptions, sub ...string) (*unstructured.Unstructured, error) {
	u, err := r.from().Get(ctx, name, o, sub...)
	if err != nil {
		return nil, err
	}
	item, err := r.transform(u)
	return item.(*unstructured.Unstructured), err
}

// List implements dynamic.ResourceInterface.
func (r readerOf) List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list, err := r.from().List(ctx, o)
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		item, err := r.transform(&list.Items[i])
		if err != nil {
			return nil, err
		}
		list.Items[i] = *item.(*unstructured.Unstructured)
	}
	return list, nil
}
