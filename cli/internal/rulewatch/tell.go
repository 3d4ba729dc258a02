package rulewatch

import (
	"cmp"
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

// kept says what is active in place of versions that are not picked.
type kept struct {
	some    bool     // the last valid version of some of them is
	without []string // the names of those that have none
}

// kept returns what is active in place of versions that are not picked.
func (n *composition) kept() (k kept) {
	for i := range n.picks {
		p := &n.picks[i]
		files, _ := p.version()
		switch {
		case len(p.wrong) == 0 && p.object.Why == "" && n.unknown == nil:
		case len(files) > 0:
			k.some = true
		default:
			k.without = append(k.without, cmp.Or(p.name, "the rules files"))
		}
	}
	return k
}

// mostNamed is how many objects a text names.
const mostNamed = 3

// String says it in words.
func (k kept) String() string {
	switch {
	case k.some && len(k.without) == 0:
		return "the last valid rules are active"
	case len(k.without) == 0:
		return "no rules are active"
	case !k.some:
		return "none of them is active until it is valid"
	}
	named, verb := k.without, " have none"
	if len(named) > mostNamed {
		named = append(slices.Clone(named[:mostNamed]), fmt.Sprintf("%d more", len(named)-mostNamed))
	} else if len(named) == 1 {
		verb = " has none"
	}
	return "the last valid rules are active, but " + strings.Join(named, ", ") + verb
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
