package engine

import (
	"reconcel/rules"
)

// lookup answers what a rule asks for. Whatever changes the answer brings about
// another reconciliation.
func (p *pass) lookup(l *rules.Lookup, q rules.Query) ([]map[string]any, error) {
	answer, err := p.primary.lookups[l].Lookup(&p.memory.reads, p.req, q, p.engine.scope())
	if err != nil {
		return nil, err
	}
	objects, unknown := answer.Objects()
	if unknown != nil {
		p.noteUnread(l, unknown)
		return nil, rules.ErrUnwatched // Asked again as soon as it is listed.
	}
	return objects, nil
}

// noteUnread notes why what a lookup reads is unknown.
func (p *pass) noteUnread(l *rules.Lookup, why error) {
	if p.unread == nil {
		p.unread = map[*rules.Lookup]error{}
	}
	p.unread[l] = why
}

// unwatched names the first kind that a rule renders or reads and that is not
// listed where it matters to the primary, and why.
func (p *pass) unwatched(r *rules.RuleResult) (kind, why string) {
	if kind, why = p.primary.unwatched(r, p.req.Namespace); why != "" || r.Leaving || len(p.unread) == 0 {
		return kind, why
	}
	for _, l := range r.Rule.Lookups {
		if err := p.unread[l]; err != nil {
			return l.GVK.Kind, permission(err).Error()
		}
	}
	return "", ""
}
