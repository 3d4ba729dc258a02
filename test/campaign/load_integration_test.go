//go:build integration

package campaign

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// The resources of the campaigns.
var (
	items      = schema.GroupVersionResource{Group: "campaign.reconcel.dev", Version: "v1", Resource: "items"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// load creates Items, and changes them all the time. Their values and replicas only grow.
type load struct {
	*testing.T
	client dynamic.Interface
	cancel func()
	busy   sync.WaitGroup
	random *rand.Rand

	wanted  []want // by number of the Item
	changes int

	mu      sync.Mutex
	values  map[string]int // the highest value of each child
	setBack []setBack
}

// setBack is a child that has received an earlier value.
type setBack struct {
	child         string
	value, before int
	at            time.Time
}

// want is the desired state of an Item.
type want struct{ value, replicas int }

func startLoad(t *testing.T, cluster *devcluster.Cluster, random *rand.Rand) *load {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{
		T: t, client: client, cancel: cancel, random: rand.New(rand.NewPCG(random.Uint64(), 1)),
		values: map[string]int{},
	}
	watchAll(t, client.Resource(configMaps).Namespace("default"), "item", l.saw)
	l.busy.Go(func() { l.work(ctx) })
	t.Cleanup(l.stop)
	return l
}

func (l *load) stop() {
	l.cancel()
	l.busy.Wait()
}

// work creates an Item every second, and changes twenty.
func (l *load) work(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var err error
		if i%20 == 0 {
			err = l.create()
		} else {
			err = l.change()
		}
		if err != nil {
			l.Errorf("load: %v", err)
		}
	}
}

func (l *load) create() error {
	name := fmt.Sprintf("item-%d", len(l.wanted))
	_, err := l.client.Resource(items).Namespace("default").Create(context.Background(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "campaign.reconcel.dev/v1", "kind": "Item", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"value": int64(1), "replicas": int64(1)},
	}}, metav1.CreateOptions{})
	l.wanted = append(l.wanted, want{1, 1})
	return err
}

func (l *load) change() error {
	n := l.random.IntN(len(l.wanted))
	w := &l.wanted[n]
	w.value++
	if l.random.IntN(10) == 0 {
		w.replicas = min(w.replicas+1, 4)
	}
	l.changes++
	body := fmt.Appendf(nil, `{"spec":{"value":%d,"replicas":%d}}`, w.value, w.replicas)
	_, err := l.client.Resource(items).Namespace("default").Patch(context.Background(), fmt.Sprintf("item-%d", n), types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

// saw records a version of a child.
func (l *load) saw(o *unstructured.Unstructured) {
	text, ok, _ := unstructured.NestedString(o.Object, "data", "value")
	if !ok {
		return
	}
	value, err := strconv.Atoi(text)
	if err != nil {
		l.Errorf("%s has the value %q", o.GetName(), text)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	name := o.GetName()
	before := l.values[name]
	if value < before {
		l.setBack = append(l.setBack, setBack{child: name, value: value, before: before, at: time.Now()})
	}
	l.values[name] = max(before, value)
}

// converges waits until all children are as wanted and there are no others.
func (l *load) converges() {
	l.Helper()
	e2e.Eventually(l.T, "all children to be as wanted", time.Minute, func() error {
		list, err := l.client.Resource(configMaps).Namespace("default").List(l.Context(), metav1.ListOptions{LabelSelector: "item"})
		if err != nil {
			return err
		}
		missing := map[string]int{} // by name of the Item: copies
		for n, w := range l.wanted {
			missing[fmt.Sprintf("item-%d", n)] = w.replicas
		}
		configs := map[string]string{}
		for _, o := range list.Items {
			item := o.GetLabels()["item"]
			if o.GetLabels()["copy"] != "" {
				missing[item]--
				continue
			}
			configs[item], _, _ = unstructured.NestedString(o.Object, "data", "value")
		}
		for n, w := range l.wanted {
			item := fmt.Sprintf("item-%d", n)
			if missing[item] != 0 || configs[item] != strconv.Itoa(w.value) {
				return fmt.Errorf("%s lacks %d copies of %d, and its value is %q instead of %d", item, missing[item], w.replicas, configs[item], w.value)
			}
		}
		return nil
	})
}

// judge checks that no child ever received an earlier value. The writes of that child in
// the period explain a failure.
func (l *load) judge(writes func(child string, from, till time.Time) []devcluster.Request) {
	l.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Logf("%d Items, %d changes", len(l.wanted), l.changes)
	const around = 5 * time.Second
	for _, s := range l.setBack {
		l.Errorf("%s was set back from %d to %d at %s, among these writes:", s.child, s.before, s.value, s.at.Format(time.StampMilli))
		for _, r := range writes(s.child, s.at.Add(-around), s.at.Add(around)) {
			l.Logf("    %s %s %s answered %d", r.Received.Format(time.StampMilli), r.User, r, r.Code)
		}
	}
}
