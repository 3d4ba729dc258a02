package faultproxy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Absence is how discovery lacks an API group.
type Absence string

// The absences.
const (
	GroupMissing Absence = "missing" // the group is not listed, and its versions are 404
	GroupEmpty   Absence = "empty"   // its versions list no resources
)

type hiddenGroup struct {
	group   string
	absence Absence
}

// HideGroup hides an API group from discovery until lift is called. Requests for the
// objects of the group still pass.
func (p *Proxy) HideGroup(group string, absence Absence) (lift func()) {
	hidden := &hiddenGroup{group, absence}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hidden = append(p.hidden, hidden)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.hidden = slices.DeleteFunc(slices.Clone(p.hidden), func(h *hiddenGroup) bool { return h == hidden })
	}
}

// groupsPath is the path of the list of groups.
const groupsPath = "/apis"

// discover answers a request for discovery of a hidden group. It reports whether it has
// answered.
func (p *Proxy) discover(w http.ResponseWriter, r *http.Request) bool {
	p.mu.Lock()
	hidden := p.hidden
	p.mu.Unlock()
	if len(hidden) == 0 {
		return false
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path == groupsPath {
		// The list must be JSON, and must not be "not modified".
		r.Header.Set("Accept", "application/json")
		r.Header.Del("Accept-Encoding")
		r.Header.Del("If-None-Match")
		return false
	}
	segments := strings.Split(strings.TrimPrefix(path, groupsPath+"/"), "/")
	if !strings.HasPrefix(path, groupsPath) || len(segments) > 2 {
		return false
	}
	for _, h := range hidden {
		switch {
		case h.group != segments[0]:
		case h.absence == GroupMissing:
			http.NotFound(w, r) // As the API server does.
			return true
		case len(segments) == 2:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{ // It fails if the client has gone.
				"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": strings.Join(segments, "/"), "resources": []any{},
			})
			return true
		}
	}
	return false
}

// hideGroups removes hidden groups from the list of groups.
func (p *Proxy) hideGroups(response *http.Response) error {
	p.mu.Lock()
	hidden := p.hidden
	p.mu.Unlock()
	if len(hidden) == 0 || strings.TrimSuffix(response.Request.URL.Path, "/") != groupsPath ||
		response.StatusCode != http.StatusOK {
		return nil
	}
	var list map[string]any
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return err
	}
	groups, _ := list["groups"].([]any)
	list["groups"] = slices.DeleteFunc(groups, func(g any) bool {
		return slices.ContainsFunc(hidden, func(h *hiddenGroup) bool {
			return h.absence == GroupMissing && g.(map[string]any)["name"] == h.group
		})
	})
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	response.Header.Del("Content-Length")
	response.Header.Del("Etag")
	return nil
}
