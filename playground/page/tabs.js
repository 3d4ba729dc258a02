// tabs makes a list of tabs work, and selects the tab that the page marks or the first one: with the pointer, and with the arrow keys as readers of
// screens expect it.
export function tabs(list, selected) {
  const all = [...list.querySelectorAll('[role=tab]')];
  const panel = (tab) => document.getElementById(tab.getAttribute('aria-controls'));
  const select = (tab) => {
    for (const t of all) {
      t.setAttribute('aria-selected', String(t === tab));
      t.tabIndex = t === tab ? 0 : -1;
      panel(t).hidden = t !== tab;
    }
  };
  list.onclick = ({target}) => {
    if (all.includes(target)) {
      select(target);
      selected(target);
    }
  };
  list.onkeydown = (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    const at = all.indexOf(document.activeElement);
    if (step && at >= 0) {
      const next = all[(at + step + all.length) % all.length];
      next.focus();
      next.click();
      event.preventDefault();
    }
  };
  select(all.find((t) => t.getAttribute('aria-selected') === 'true') ?? all[0]);
}
