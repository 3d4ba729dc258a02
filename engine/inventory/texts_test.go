package inventory

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"reconcel/rules"
	"reconcel/rules/source"
)

const samePlace = "host:/rules.yaml"

// textsIn returns the ConfigMaps of texts in a cluster.
func textsIn(t *testing.T, client dynamic.Interface) (all []unstructured.Unstructured) {
	t.Helper()
	for _, name := range TextNames("reconcel") {
		if u, err := client.Resource(Resource).Namespace("default").Get(t.Context(), name, metav1.GetOptions{}); err == nil {
			all = append(all, *u)
		}
	}
	return all
}

// noise returns a comment that cannot be compressed well.
func noise(size int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, seed))
	random := make([]byte, size*3/4)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	return "# " + base64.StdEncoding.EncodeToString(random) + "\n"
}

// programsOf compiles files with one rule each and a comment. With changed, their rules are other ones.
func programsOf(t *testing.T, comments ...string) *rules.Program {
	t.Helper()
	var files []source.File
	for i, comment := range comments {
		labels := ""
		if comment == changed {
			labels = ", selector: {matchLabels: {changed: x}}"
		}
		text := fmt.Sprintf("%sapiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- {name: r%d, for: {apiVersion: g/v1, kind: Widget%s}}\n", comment, i, labels)
		files = append(files, source.File{Name: fmt.Sprintf("%d.yaml", i), Data: []byte(text)})
	}
	program, err := rules.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

const changed = "# with a selector\n"

// TestLastFiles keeps the files that became active last, however large, for processes of the same source.
func TestLastFiles(t *testing.T) {
	for _, test := range []struct {
		name     string
		comments []string
		pieces   int
		kept     bool
	}{
		{"small", []string{"# one\n", "# two, with \ttabs, ünicode and <angles>\n"}, 1, true},
		{"large", []string{noise(900<<10, 1), noise(700<<10, 2)}, 3, true},
		{"too large", []string{noise(1000<<10, 3), noise(1000<<10, 4), noise(1000<<10, 5)}, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := fake.NewSimpleDynamicClient(runtime.NewScheme())
			program := programsOf(t, test.comments...)
			extend(t, inventoryFrom(client, samePlace), programsOf(t, "# before\n"))
			extend(t, inventoryFrom(client, samePlace), program)
			found := textsIn(t, client)
			if len(found) != test.pieces {
				t.Errorf("there are %d ConfigMaps, want %d", len(found), test.pieces)
			}
			for _, u := range found {
				if size := len(u.GetName()) + sizeOf(&u); size > 1<<20 {
					t.Errorf("%s has %d bytes", u.GetName(), size)
				}
			}
			files, err := inventoryFrom(client, samePlace).LastFiles(t.Context())
			if err != nil || (revisionOf(files) == revisionOf(program.Sources())) != test.kept {
				t.Errorf("got %d files, %v", len(files), err)
			}
			if files, err := inventoryFrom(client, "host:/other.yaml").LastFiles(t.Context()); err != nil || files != nil {
				t.Errorf("another source gets %d files, %v", len(files), err)
			}
			writes := len(client.Actions())
			extend(t, inventoryFrom(client, samePlace), program)
			for _, action := range client.Actions()[writes:] {
				if action.GetVerb() != "get" {
					t.Errorf("the next process sends %s", action.GetVerb())
				}
			}
		})
	}
}

// TestTextsOfFilesThatChangeInTurn changes one file after the other: the text of the others is not kept once more for each
// change, and that of every version that runs is.
func TestTextsOfFilesThatChangeInTurn(t *testing.T) {
	client := fake.NewSimpleDynamicClient(runtime.NewScheme())
	inv := inventoryFrom(client, samePlace)
	texts := []string{"", "", "", "", ""}
	first := programsOf(t, texts...)
	held := first.Primaries()[0].Rules[0]
	extend(t, inv, first)
	for i := range texts {
		texts[i] = changed
		extend(t, inv, programsOf(t, texts...).Compose(held)) // Its change waits for an approval.
	}
	stored, err := inventoryFrom(client, samePlace).RecordedWithTexts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for key := range stored.Entries {
		r := stored.Rule(key)
		if r == nil {
			t.Errorf("the text of %s is not kept", key.Rule)
		} else if key == KeyOf(held) && r.Digest != held.Digest {
			t.Errorf("the held version of %s is not kept", key.Rule)
		}
	}
	if got := len(stored.texts.Revisions); got != 3 {
		t.Errorf("the text of all rules is kept %d times, want 3: now, before the last change, and of the held version", got)
	}
}

func sizeOf(u *unstructured.Unstructured) (size int) {
	for _, text := range dataOf(u) {
		size += base64.StdEncoding.DecodedLen(len(text))
	}
	return size
}

// TestTextsThatOthersChange expects a process to take no text but what was written, and to write it again.
func TestTextsThatOthersChange(t *testing.T) {
	other := base64.StdEncoding.EncodeToString([]byte("other"))
	for name, patch := range map[string]string{
		"another text":     `{"binaryData":{"HASH":"` + other + `"}}`,
		"another hash":     `{"data":{"hash":"0123"},"binaryData":{"HASH":null,"0123":"` + other + `"}}`,
		"no text":          `{"binaryData":null}`,
		"no pieces":        `{"data":{"pieces":"-1"}}`,
		"without anything": `{"data":null,"binaryData":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewSimpleDynamicClient(runtime.NewScheme())
			program := programsOf(t, "")
			running := inventoryFrom(client, samePlace)
			extend(t, running, program)
			hash, _ := head(&textsIn(t, client)[0])
			configMaps := client.Resource(Resource).Namespace("default")
			if _, err := configMaps.Patch(t.Context(), "reconcel-revisions", types.MergePatchType, []byte(strings.ReplaceAll(patch, "HASH", hash)), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if files, err := inventoryFrom(client, samePlace).LastFiles(t.Context()); !errors.Is(err, ErrDamaged) || files != nil {
				t.Errorf("got %d files, %v", len(files), err)
			}
			for _, want := range []bool{true, false} {
				if restored, err := running.RestoreTexts(t.Context()); err != nil || restored != want {
					t.Errorf("restored %v, %v", restored, err)
				}
			}
			if files, err := inventoryFrom(client, samePlace).LastFiles(t.Context()); err != nil || revisionOf(files) != revisionOf(program.Sources()) {
				t.Errorf("after it was restored: %d files, %v", len(files), err)
			}
		})
	}
}

// TestTextsThatMayNotBeWritten changes a rule while another one is held, and the texts may not be written, or not read
// either. The next process knows the text of what runs as far as an earlier one could write it, and of all that runs once
// the permission is there.
func TestTextsThatMayNotBeWritten(t *testing.T) {
	for name, verbs := range map[string][]string{"not written": {"create", "update"}, "not read": {"create", "update", "get"}} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewSimpleDynamicClient(runtime.NewScheme())
			first := programsOf(t, "", "", "")
			held := first.Primaries()[0].Rules[0]
			extend(t, inventoryFrom(client, samePlace), first)
			forbidden := true
			for _, verb := range verbs {
				client.PrependReactor(verb, "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
					var name string
					switch a := a.(type) {
					case clienttesting.GetAction:
						name = a.GetName()
					case clienttesting.UpdateAction: // A CreateAction has the same methods.
						name = a.GetObject().(*unstructured.Unstructured).GetName()
					}
					return forbidden && name == "reconcel-revisions", nil, apierrors.NewForbidden(Resource.GroupResource(), name, nil)
				})
			}
			running := inventoryFrom(client, samePlace)
			now := programsOf(t, changed, changed, "").Compose(held)
			for range 3 {
				extend(t, running, now)
			}
			known := func() (names []string) {
				stored, err := inventoryFrom(client, samePlace).RecordedWithTexts(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, key := range SortedKeys(stored.Entries) {
					if stored.Rule(key) != nil {
						names = append(names, key.Rule)
					}
				}
				return names
			}
			forbidden = false
			if got := strings.Join(known(), " "); got != "r0 r2" {
				t.Errorf("the next process knows the text of %q, want r0 r2", got)
			}
			forbidden = true
			_, _ = running.RestoreTexts(t.Context())
			forbidden = false
			if restored, err := running.RestoreTexts(t.Context()); err != nil || !restored {
				t.Errorf("restored %v, %v", restored, err)
			}
			extend(t, running, now)
			if got := strings.Join(known(), " "); got != "r0 r1 r2" {
				t.Errorf("with the permission, the next process knows the text of %q, want r0 r1 r2", got)
			}
		})
	}
}

// TestTextsAreReplacedAtOnce ends a process at each write while it replaces texts in pieces: the next one reads
// the old ones or the new ones.
func TestTextsAreReplacedAtOnce(t *testing.T) {
	before, after := programsOf(t, noise(800<<10, 1)), programsOf(t, noise(900<<10, 2), noise(500<<10, 3))
	for most := range 6 {
		client := fake.NewSimpleDynamicClient(runtime.NewScheme())
		extend(t, inventoryFrom(client, samePlace), before)
		inv := inventoryFrom(client, samePlace)
		inv.texts.client = &dying{ResourceInterface: inv.texts.client, writes: most}
		err := inv.Extend(t.Context(), after, Check{})
		want := before
		if err == nil {
			want = after
		}
		if (err == nil) != (most > 3) { // Both versions have four pieces.
			t.Errorf("after %d writes: %v", most, err)
		}
		files, err := inventoryFrom(client, samePlace).LastFiles(t.Context())
		if err != nil || revisionOf(files) != revisionOf(want.Sources()) {
			t.Errorf("after %d writes: %d files, %v", most, len(files), err)
		}
	}
}

// dying is a client that sends only some writes.
type dying struct {
	dynamic.ResourceInterface
	writes int
}

var errDead = errors.New("the process is dead")

func (d *dying) Create(ctx context.Context, u *unstructured.Unstructured, o metav1.CreateOptions, sub ...string) (*unstructured.Unstructured, error) {
	if d.writes--; d.writes < 0 {
		return nil, errDead
	}
	return d.ResourceInterface.Create(ctx, u, o, sub...)
}

func (d *dying) Update(ctx context.Context, u *unstructured.Unstructured, o metav1.UpdateOptions, sub ...string) (*unstructured.Unstructured, error) {
	if d.writes--; d.writes < 0 {
		return nil, errDead
	}
	return d.ResourceInterface.Update(ctx, u, o, sub...)
}
