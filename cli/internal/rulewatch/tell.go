package rulewatch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"reconcel/cli/internal/ruleobjects"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// rejected returns what is wrong with the versions of units that are not picked, in the words of its author.
func (n *composition) rejected() (all []error) {
	if n.unknown != nil {
		all = append(all, n.unknown)
	}
	for i := range n.picks {
		p := &n.picks[i]
		for _, err := range p.wrong {
			all = append(all, p.told(err))
		}
		if p.object.Why != "" && n.unknown == nil {
			all = append(all, errors.New(p.name+": "+p.object.Why))
		}
	}
	return all
}

// told returns an error in an object with the name of the object, and with a path in place of the line.
func (p *pick) told(err error) error {
	if p.name == "" {
		return err
	}
	if e, ok := errors.AsType[*source.Error](err); ok {
		return errors.New(p.name + ": " + inObject(p.texts, e))
	}
	return fmt.Errorf("%s: %w", p.name, err)
}

// inObject tells an error with its path in an object.
func inObject(files []source.File, e *source.Error) string {
	for _, f := range files {
		if f.Name != e.Pos.File {
			continue
		}
		text := e.Text()
		if path := source.PathAt(f, e.Pos, e.Message); path != "" && !strings.HasPrefix(text, path+": ") {
			return path + ": " + text
		}
		return text
	}
	return e.Error()
}

// judgeObjects tells what became of each object, if that has changed.
func (w *Watch) judgeObjects() {
	if w.Objects == nil || w.composed == nil {
		return
	}
	var invalid []error
	if w.Validator != nil {
		invalid = w.Validator.invalid
	}
	if w.judged == w.composed && slices.Equal(w.judgedInvalid, invalid) {
		return
	}
	w.judged, w.judgedInvalid = w.composed, invalid
	var all []ruleobjects.Judgement
	for i := range w.composed.picks {
		p := &w.composed.picks[i]
		if p.name == "" || p.lost {
			continue
		}
		j := ruleobjects.Judgement{Object: p.object, Reason: ruleobjects.Active}
		add := func(reason ruleobjects.Reason, wrong []error, texts []source.File) {
			for _, err := range wrong {
				text := err.Error()
				if e, ok := errors.AsType[*source.Error](err); ok {
					text = inObject(texts, e)
				}
				j.Reason, j.Problems = reason, append(j.Problems, text)
			}
		}
		if add(p.reason, p.wrong, p.texts); len(p.wrong) == 0 {
			add(ruleobjects.InvalidForCluster, errorsOf(p, invalid), w.active.Sources)
		}
		all = append(all, j)
	}
	w.Objects.Judge(all)
}

// told returns errors about active rules, those in objects with their paths.
func (w *Watch) told(all []error) (told []error) {
	for _, err := range all {
		if e, ok := errors.AsType[*source.Error](err); ok && syntax.ObjectIn(e.Pos.File) != "" {
			err = errors.New(e.Pos.File + ": " + inObject(w.active.Sources, e))
		}
		told = append(told, err)
	}
	return told
}
