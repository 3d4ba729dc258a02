package server

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/schema"
	"reconcel/sim"
)

// documents are the OpenAPI documents of some kinds, each made when it is needed.
type documents struct {
	mu   sync.Mutex
	made map[runtimeschema.GroupVersion][]byte
}

// document returns the OpenAPI document of a version of a group, or nil if it has no kinds.
func (s *Server) document(gv runtimeschema.GroupVersion) []byte {
	kinds := s.Cluster.Kinds()
	known, _ := s.schemas.LoadOrStore(kinds, &documents{made: map[runtimeschema.GroupVersion][]byte{}})
	d := known.(*documents)
	d.mu.Lock()
	defer d.mu.Unlock()
	text, made := d.made[gv]
	if !made {
		s.schemas.Range(func(other, _ any) bool {
			if other != any(kinds) {
				s.schemas.Delete(other)
			}
			return true
		})
		text = newDocument(kinds, gv)
		d.made[gv] = text
	}
	return text
}

func newDocument(kinds *sim.Kinds, gv runtimeschema.GroupVersion) []byte {
	paths, in := map[string]any{}, []*schema.Kind{}
	for _, k := range kinds.All() {
		if k.GVK.GroupVersion() == gv {
			in = append(in, k)
			addPaths(paths, k)
		}
	}
	if len(in) == 0 {
		return nil
	}
	schemas := map[string]*spec.Schema{}
	for name, model := range kinds.Schemas().Models(in...) {
		schemas[name] = described(name, model)
	}
	text, err := json.Marshal(map[string]any{"openapi": "3.0.0",
		"info": map[string]any{"title": "Kubernetes", "version": KubernetesVersion}, "paths": paths,
		"components": map[string]any{"schemas": schemas}})
	if err != nil {
		return nil // Schemas were decoded from JSON.
	}
	return text
}

// addPaths adds the paths of a kind, with what clients look for: the kind, and which parameters a PATCH has.
func addPaths(paths map[string]any, k *schema.Kind) {
	gvk := map[string]any{"group": k.GVK.Group, "version": k.GVK.Version, "kind": k.GVK.Kind}
	operation := func(parameters ...string) map[string]any {
		var all []any
		for _, name := range parameters {
			all = append(all, map[string]any{"name": name, "in": "query", "schema": map[string]any{"type": "string"}})
		}
		out := map[string]any{"x-kubernetes-group-version-kind": gvk, "responses": map[string]any{}}
		if all != nil {
			out["parameters"] = all
		}
		return out
	}
	at := prefixOf(k.GVK.GroupVersion()) + "/"
	if k.Namespaced {
		at += "namespaces/{namespace}/"
	}
	at += k.Resource
	written := []string{"dryRun", "fieldManager", "fieldValidation"}
	paths[at] = map[string]any{"get": operation(), "post": operation(written...), "delete": operation("dryRun")}
	one := map[string]any{"get": operation(), "put": operation(written...),
		"patch": operation(append(written, "force")...)}
	if k.Status {
		paths[at+"/{name}/status"] = one
	}
	if k.Scale {
		paths[at+"/{name}/scale"] = map[string]any{}
	}
	one = maps.Clone(one)
	one["delete"] = operation("dryRun")
	paths[at+"/{name}"] = one
}

func prefixOf(gv runtimeschema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.Group + "/" + gv.Version
}

// described returns a schema with the descriptions of Kubernetes' own definitions, which the embedded schemas lack.
func described(name string, s *spec.Schema) *spec.Schema {
	if !schema.Own(name) {
		return s
	}
	out := *s
	out.Description = schema.Description(name, "")
	out.Properties = maps.Clone(s.Properties)
	for field, p := range out.Properties {
		p.Description = schema.Description(name, field)
		out.Properties[field] = p
	}
	return &out
}

// serveSchemaIndex serves the list of documents. Their hashes change when they do.
func (s *Server) serveSchemaIndex(w http.ResponseWriter, _ *http.Request) {
	custom := map[runtimeschema.GroupVersion]bool{}
	for _, k := range s.Cluster.Kinds().All() {
		gv := k.GVK.GroupVersion()
		custom[gv] = custom[gv] || k.Custom
	}
	paths := map[string]any{}
	for gv, own := range custom {
		hash := KubernetesVersion
		if own {
			hash = fmt.Sprintf("%X", sha256.Sum256(s.document(gv)))
		}
		at := prefixOf(gv)
		paths[at[1:]] = map[string]any{"serverRelativeURL": "/openapi/v3" + at + "?hash=" + hash}
	}
	writeJSON(w, http.StatusOK, map[string]any{"paths": paths})
}

// serveSchema serves one document.
func (s *Server) serveSchema(w http.ResponseWriter, r *http.Request) {
	at, ok := parsePath(strings.TrimPrefix(r.URL.Path, "/openapi/v3"))
	if !ok || at.resource != "" || !slices.Contains(s.served()[at.Group], at.Version) {
		http.NotFound(w, r)
		return
	}
	text := s.document(at.GroupVersion)
	if text == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// serveOldSchema serves a document of OpenAPI v2 that describes no kinds. kubectl validates the items of a List by it,
// because no path of v3 is for Lists, and leaves kinds that it does not describe to the server.
func serveOldSchema(w http.ResponseWriter, r *http.Request) {
	document := &openapiv2.Document{Swagger: "2.0",
		Info: &openapiv2.Info{Title: "Kubernetes", Version: KubernetesVersion}, Paths: &openapiv2.Paths{}}
	if !strings.Contains(r.Header.Get("Accept"), "+protobuf") {
		writeJSON(w, http.StatusOK, map[string]any{"swagger": document.Swagger, "paths": map[string]any{},
			"info": map[string]any{"title": document.Info.Title, "version": document.Info.Version}})
		return
	}
	text, err := proto.Marshal(document)
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
	_, _ = w.Write(text)
}
