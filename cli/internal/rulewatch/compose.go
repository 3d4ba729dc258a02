package rulewatch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/ruleobjects"
	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A composition is a set of rules with one version of each unit: its own if that is valid, or else the version that
// was active last.
type composition struct {
	picks   []pick
	unknown error // why the objects are not known, or nil
	loaded  *rules.Loaded
	hash    digest
	// tolerated: versions that were active last are invalid for the cluster, and stay.
	tolerated bool
	// incomplete: rules that were active last may be missing.
	incomplete bool
}

// A pick is the version of a unit that becomes active.
type pick struct {
	*unit
	last    []source.File // the version that was active last
	own     bool          // the unit's own version is picked, and it is another one
	dropped []error       // why the version that was active last is not picked either
	reason  ruleobjects.Reason
	wrong   []error       // why the unit's own version is not picked
	texts   []source.File // with what is wrong
}

// version returns the version.
func (p *pick) version() ([]source.File, source.Errors) {
	switch {
	case p.own:
		return p.files, p.unread
	case len(p.dropped) > 0:
		return nil, nil
	}
	return p.last, nil
}

// refuse records why the unit's own version is not picked, and picks the last one.
func (p *pick) refuse(reason ruleobjects.Reason, wrong ...error) {
	p.own, p.reason, p.wrong, p.texts = false, reason, wrong, p.files
}

// compose picks a version for each unit, so that one which is wrong stops only its own change. It returns nil if
// ctx ends.
func (w *Watch) compose(ctx context.Context, c *contents, last versions) *composition {
	w.names = map[digest][]source.String{}
	next := &composition{unknown: c.unknown, incomplete: c.unknown != nil && !last.known}
	for i := range c.units {
		u := &c.units[i]
		p := pick{unit: u, last: u.object.Keep(last.of[u.name])}
		p.own = !u.lost && digestOf(u.files, u.unread) != digestOf(p.last, nil)
		next.picks = append(next.picks, p)
	}
	for {
		var files []source.File
		var unread source.Errors
		for i := range next.picks {
			f, u := next.picks[i].version()
			files, unread = append(files, f...), append(unread, u...)
		}
		loaded, reason, err := w.judge(ctx, w.orNothing(files), unread)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
		case reason == ruleobjects.Invalid && (w.separate(next.picks) || w.limit(next.picks)):
			continue
		case next.refuse(reason, split(err)):
			continue
		case reason == ruleobjects.InvalidForCluster:
			next.tolerated = true
		case next.drop(split(err)):
			continue
		default:
			w.Log.Error("no rules can be loaded", "error", err)
			return nil
		}
		next.loaded, next.hash = loaded, digestOf(loaded.Sources, nil)
		for i := range next.picks {
			p := &next.picks[i]
			files, _ := p.version()
			if len(files) == 0 && (len(p.last) > 0 || !last.known) {
				next.incomplete = true
			}
		}
		return next
	}
}

// judge loads rules. It recovers from a panic, so that the active rules keep running.
func (w *Watch) judge(ctx context.Context, files []source.File,
	unread source.Errors) (l *rules.Loaded, reason ruleobjects.Reason, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.Log.Error("panic", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			reason, err = ruleobjects.Invalid, errors.New("internal error, see the log")
		}
	}()
	l = w.active.Recompile(files, unread...)
	if err = judge.Of(l, nil, w.Policy).Err(); err != nil {
		return l, ruleobjects.Invalid, err
	}
	return l, ruleobjects.InvalidForCluster, w.Check(ctx, l)
}

// separate refuses the version of a unit that has a rule which another unit has, too, and reports whether there was
// one. What was active last keeps its rules; of two new versions, that of the older unit does.
func (w *Watch) separate(picks []pick) bool {
	if len(picks) < 2 {
		return false
	}
	holders := map[string]*pick{}
	for i := range picks {
		p := &picks[i]
		files, _ := p.version()
		for _, name := range w.namesIn(files) {
			holder := holders[name.Value]
			switch {
			case holder == nil:
				holders[name.Value] = p
				continue
			case holder == p:
				continue // Compiling tells if that is wrong.
			case !p.own && !holder.own:
				continue // Compiling tells.
			case p.own && (!holder.own || holder.older(p.unit)):
				p.refuse(ruleobjects.Conflict, conflict(name.Value, name.Pos, holder.unit))
			default:
				files, _ := holder.version()
				holder.refuse(ruleobjects.Conflict, conflict(name.Value, w.positionOf(name.Value, files), p.unit))
			}
			return true
		}
	}
	return false
}

// limit refuses the versions of units with which there would be too many rules, and reports whether there were any. Of
// the units that have more rules than before, the older ones come first.
func (w *Watch) limit(picks []pick) (some bool) {
	count := func(files []source.File) int { return len(w.namesIn(files)) }
	room := syntax.MaxRules
	var growing []*pick
	for i := range picks {
		p := &picks[i]
		files, _ := p.version()
		if p.own && count(p.files) > count(p.last) {
			growing, files = append(growing, p), p.last
		}
		room -= count(files)
	}
	slices.SortStableFunc(growing, func(a, b *pick) int {
		if a.older(b.unit) {
			return -1
		}
		return 1
	})
	for _, p := range growing {
		if more := count(p.files) - count(p.last); more <= room {
			room -= more
			continue
		}
		some = true
		p.refuse(ruleobjects.Invalid, fmt.Errorf("has %d rules, and with those of all other files and objects there are "+
			"more than %d rules", count(p.files), syntax.MaxRules))
	}
	return some
}

// conflict says which other unit has a rule.
func conflict(rule string, at source.Pos, holder *unit) error {
	where := holder.name
	if where == "" {
		where = "a rules file"
	}
	return source.NewError(at, rule, "is also in "+where+", which had it first",
		"remove it from one of them, or rename it")
}

// refuse refuses the units' own versions that are wrong, and reports whether there are any.
func (n *composition) refuse(reason ruleobjects.Reason, wrong []error) (some bool) {
	var youngest *pick
	for i := range n.picks {
		p := &n.picks[i]
		if !p.own {
			continue
		}
		if of := errorsOf(p, wrong); len(of) > 0 {
			p.refuse(reason, of...)
			some = true
		} else if youngest == nil || youngest.older(p.unit) {
			youngest = p
		}
	}
	if some || youngest == nil || reason == ruleobjects.InvalidForCluster && n.ranBefore(wrong) {
		return some
	}
	// It is wrong together with the others, or has no position.
	youngest.refuse(reason, wrong...)
	return true
}

// ranBefore reports whether all errors are those of versions that were active last.
func (n *composition) ranBefore(wrong []error) bool {
	var of int
	for i := range n.picks {
		if p := &n.picks[i]; !p.own {
			of += len(errorsOf(p, wrong))
		}
	}
	return of == len(wrong)
}

// drop drops versions that were active last and are invalid now, and reports whether there are any. The language or
// the policy has changed since.
func (n *composition) drop(wrong []error) (some bool) {
	for i := range n.picks {
		p := &n.picks[i]
		of := errorsOf(p, wrong)
		if p.own || len(p.dropped) > 0 || len(of) == 0 {
			continue
		}
		some, p.dropped = true, of
		if len(p.wrong) == 0 {
			p.reason, p.wrong, p.texts = ruleobjects.Invalid, of, p.last
		}
	}
	return some
}

// errorsOf returns the errors in the files of a unit.
func errorsOf(p *pick, all []error) (found []error) {
	for _, err := range all {
		if e, ok := errors.AsType[*source.Error](err); ok && unitOf(e.Pos.File) == p.name {
			found = append(found, err)
		}
	}
	return found
}

// program returns the rules for the engine.
func (n *composition) program() *rules.Program {
	if n.incomplete {
		return n.loaded.Program.AsIncomplete()
	}
	return n.loaded.Program
}

// neverValid returns what is wrong with rules files that were never valid, or nil.
func (n *composition) neverValid(last versions) error {
	for i := range n.picks {
		p := &n.picks[i]
		files, _ := p.version()
		if p.name != "" || len(p.wrong) == 0 || len(files) > 0 || last.known && len(p.dropped) == 0 {
			continue
		}
		var all source.Errors
		for _, err := range p.wrong {
			e, ok := errors.AsType[*source.Error](err)
			if !ok {
				return err
			}
			all = append(all, e)
		}
		return all
	}
	return nil
}
