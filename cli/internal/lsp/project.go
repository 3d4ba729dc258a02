package lsp

import (
	"path/filepath"
	"slices"

	"reconcel/cli/internal/judge"
)

// A Project says what the files of a workspace are judged with.
type Project struct {
	CRDs   []string     // files and folders; none: those beside each file
	Policy judge.Policy // of the installation that runs the rules
	Strict bool         // warnings are errors
}

// settings are what an editor adds to a Project, by the names of the flags.
type settings struct {
	CRDs         []string `json:"crd"`
	AllowedKinds []string `json:"allow-kind"`
	Namespaces   []string `json:"namespaced"`
	IgnoreChecks []string `json:"ignore-check"`
	Strict       bool     `json:"strict"`
}

// configure reads the settings of the project. While they are wrong, the last ones count.
func (s *server) configure() {
	var p Project
	if s.Project != nil {
		var err error
		p, err = s.Project(s.root)
		s.complain(err)
		if err != nil && s.initialized {
			p = s.read
		}
	}
	s.read = p
	for _, path := range s.editor.CRDs {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.root, path)
		}
		p.CRDs = append(slices.Clip(p.CRDs), path)
	}
	p.Policy.AllowedKinds = slices.Concat(p.Policy.AllowedKinds, s.editor.AllowedKinds)
	p.Policy.Namespaces = slices.Concat(p.Policy.Namespaces, s.editor.Namespaces)
	p.Policy.IgnoreChecks = slices.Concat(p.Policy.IgnoreChecks, s.editor.IgnoreChecks)
	p.Strict = p.Strict || s.editor.Strict
	s.project = p
	s.kinds.give(p.CRDs)
}

// complain shows an error about settings. It repeats an error only after a different result.
func (s *server) complain(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != s.unset {
		_ = s.notify("window/showMessage", showParams{severityError, text}) // The next answer fails, too.
	}
	s.unset = text
}
