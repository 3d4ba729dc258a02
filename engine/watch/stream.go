package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"reconcel/engine/discover"
)

// parameters is the version of the parameters of requests.
var parameters = schema.GroupVersion{Version: "v1"}

// request returns a request for the objects of a namespaced cache. client-go would repeat it ten
// times without a log line while the API server cannot fill its own cache. The informer repeats
// it, too.
func (l *listing) request(n *namespaced, o metav1.ListOptions) *rest.Request {
	return l.Client.Get().MaxRetries(1).AbsPath(pathOf(l.cache.kind, n.namespace)...).SpecificallyVersionedParams(&o,
		metav1.ParameterCodec, parameters)
}

// pathOf returns the path of the objects of a kind; without a namespace, of those of all.
func pathOf(k discover.Kind, namespace string) []string {
	path := []string{"apis", k.GVR.Group, k.GVR.Version}
	if k.GVR.Group == "" {
		path = []string{"api", k.GVR.Version}
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	return append(path, k.GVR.Resource)
}

// list requests a list, and reads its objects one by one.
func (l *listing) list(ctx context.Context, n *namespaced, o metav1.ListOptions) (*internalversion.List, error) {
	l.watch.tweakList(&o)
	body, err := l.request(n, o).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	list, err := newObjectReader(l.watch, l.cache.kind.GVK, body).list()
	if err != nil {
		return nil, fmt.Errorf("list of %s: %w", l.cache.kind.GVK.Kind, err)
	}
	return list, nil
}

// stream requests a watch. Like client-go, it takes a broken connection for the end of the
// watch.
func (l *listing) stream(ctx context.Context, n *namespaced, o metav1.ListOptions) (apiwatch.Interface, error) {
	o.Watch = true
	l.watch.tweakList(&o)
	var body io.ReadCloser
	err := l.checkHistory(ctx, n, o)
	switch {
	case err != nil:
	case o.SendInitialEvents != nil:
		body, err = l.streamList(ctx, n, o)
	default:
		body, err = l.begin(ctx, n, o)
	}
	if utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err) {
		return apiwatch.NewEmptyWatch(), nil
	}
	if restored, ok := errors.AsType[RestoredError](err); ok {
		l.Restored(restored)
	}
	if isHidden(err) {
		l.refused(n, err)
	}
	if err != nil {
		return nil, err
	}
	n.term = newTerm(o)
	frames := &observedDecoder{listing: l, namespaced: n,
		frameDecoder: frameDecoder{objects: newObjectReader(l.watch, l.cache.kind.GVK, body), body: body, term: n.term}}
	if o.SendInitialEvents == nil { // Otherwise its first bookmark shows that it works.
		frames.proof = time.AfterFunc(watchProof, func() { l.resumed(n) })
	}
	return apiwatch.NewStreamWatcherWithLogger(klog.FromContext(ctx), frames,
		apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")), nil
}

// begin sends the request for a watch, and returns when the API server begins to answer.
func (l *listing) begin(ctx context.Context, n *namespaced, o metav1.ListOptions) (io.ReadCloser, error) {
	return l.request(n, o).Throttle(flowcontrol.NewFakeAlwaysRateLimiter()).Stream(ctx)
}

// How long the API server may take to begin its answer to a watch that begins with a list. It begins
// at once, unless it is overloaded or cannot read the objects itself, for example because a
// conversion webhook or an aggregated API does not answer: then it says nothing, and its answer to
// a list says why. After answerPatience, a start or a reload no longer waits for the objects, and
// after answerLimit the informer sends a list.
const (
	answerPatience = 3 * time.Second
	answerLimit    = 15 * time.Second
)

var errUnanswered = fmt.Errorf("the API server has not answered for %s", answerPatience)

// streamList is begin for a watch that begins with a list.
func (l *listing) streamList(ctx context.Context, n *namespaced, o metav1.ListOptions) (io.ReadCloser, error) {
	late := time.AfterFunc(answerPatience, func() {
		if known := n.problem.Load(); known != nil && errors.Is(*known, ErrNotListed) { // Otherwise it says more.
			l.unlisted(l.watch, n, errUnanswered)
		}
	})
	defer late.Stop()
	asking, cancel := context.WithCancel(ctx)
	limit := time.AfterFunc(answerLimit, cancel)
	body, err := l.begin(asking, n, o)
	switch inTime := limit.Stop(); {
	case err == nil && inTime:
		return cancelled{body, cancel}, nil
	case err == nil:
		_ = body.Close()
		err = errUnanswered
	case !inTime && ctx.Err() == nil:
		err = errUnanswered
	}
	cancel()
	return nil, err
}

// isHidden reports whether the informer may repeat a watch after an error without reporting the
// error.
func isHidden(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err)
}

// A cancelled body also ends its context when it is closed.
type cancelled struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (c cancelled) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

// list reads the answer to a list request.
func (r *objectReader) list() (*internalversion.List, error) {
	out, isList := &internalversion.List{}, false
	err := r.decoder.Object(func(key string) error {
		switch key {
		case "metadata":
			return r.decodeInto(&out.ListMeta)
		case "items":
			isList, out.Items = true, nil
			return r.items(out)
		}
		return r.decoder.Skip()
	})
	if err == nil && !isList {
		err = fmt.Errorf("the answer has no items")
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (r *objectReader) items(out *internalversion.List) error {
	if absent, err := r.decoder.Null(); absent || err != nil {
		return err
	}
	return r.decoder.Array(func() error {
		o, err := r.read()
		if err == nil {
			out.Items = append(out.Items, o)
		}
		return err
	})
}

// decodeInto reads a value of a known type.
func (r *objectReader) decodeInto(value any) error {
	raw, err := r.decoder.AppendRaw(nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, value)
}

// A frameDecoder reads the events of a watch.
type frameDecoder struct {
	objects *objectReader
	body    io.Closer
	term    *term
	heard   bool // it has had an event
}

// Close ends the watch.
func (f *frameDecoder) Close() { _ = f.body.Close() } // There is nothing left to do with it.

// Decode returns the next event, or io.EOF at the end of the watch.
func (f *frameDecoder) Decode() (apiwatch.EventType, runtime.Object, error) {
	more, err := f.objects.decoder.Next()
	switch {
	case err != nil:
		return "", nil, err
	case !more:
		if f.heard {
			f.term.end()
		}
		return "", nil, io.EOF
	}
	f.heard = true
	return f.event()
}

func (f *frameDecoder) event() (is apiwatch.EventType, o runtime.Object, err error) {
	d := f.objects.decoder
	err = d.Object(func(key string) (err error) {
		switch key {
		case "type":
			var name string
			name, err = d.String()
			is = apiwatch.EventType(name)
		case "object":
			o, err = f.object(is)
		default:
			err = d.Skip()
		}
		return err
	})
	if err == nil && o == nil {
		err = fmt.Errorf("a watch event of type %q has no object", is)
	}
	if err != nil {
		return "", nil, err
	}
	return is, o, nil
}

// object reads the object of an event. The API server sends the type of the event first.
func (f *frameDecoder) object(is apiwatch.EventType) (runtime.Object, error) {
	switch is {
	case apiwatch.Added, apiwatch.Modified, apiwatch.Deleted:
		return f.objects.read()
	case apiwatch.Bookmark:
		bookmark := &metav1.PartialObjectMetadata{}
		return bookmark, f.objects.decodeInto(bookmark)
	case apiwatch.Error:
		status := &metav1.Status{}
		return status, f.objects.decodeInto(status)
	}
	return nil, fmt.Errorf("unknown type %q of a watch event", is)
}
