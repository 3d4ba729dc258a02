package access

import "reconcel/engine/decide"

// ForgetDelays forgets rejections, failures and conflict loops, so that no write waits. What does not say for which
// request it was applied is to be applied once more.
func (m *Memory) ForgetDelays() {
	for _, w := range m.Children {
		w.Rejected, w.Replacement, w.Damper, w.Renew = nil, nil, decide.Damper{}, true
	}
	for _, w := range m.patches {
		w.Rejected, w.Damper, w.Renew = nil, decide.Damper{}, true
	}
	for _, mark := range m.marks {
		mark.Rejected, mark.Damper = nil, decide.Damper{}
	}
	m.Status.Rejected, m.Status.Silenced, m.Status.Damper = nil, nil, decide.Damper{}
	m.Undeleted = nil
}
