import {element} from './dom.js';
import {yaml} from './highlight.js';

const PLAY = 700; // milliseconds between two steps
const WAITS = [['1 minute', 60_000], ['1 hour', 3_600_000], ['1 day', 86_400_000]];

const keyOf = (o) => [o.apiVersion, o.kind, o.namespace ?? '', o.name].join('|');
const nameOf = (o) => `${o.kind} ${o.namespace && o.namespace !== 'default' ? o.namespace + '/' : ''}${o.name}`;

// A TimelineView shows the objects at a step of a timeline, and lets people delete and change them.
export class TimelineView {
  #actions = [];
  #until = 0;
  #steps = [];
  #at = -1; // the step that is shown
  #last = false; // stay at the last step
  #selected; // the key of an object
  #after; // the time of a new action, whose effect is shown next
  #playing;
  #changed;

  constructor(parent, changed) {
    this.#changed = changed;
    this.slider = element('input', {type: 'range', id: 'step', min: 0, max: 0, value: 0, oninput: () => this.#go(Number(this.slider.value))});
    this.play = element('button', {type: 'button', class: 'main', onclick: () => this.#toggle()}, 'Play');
    this.count = element('span', {class: 'count'});
    this.happened = element('p', {id: 'happened', 'aria-live': 'polite'});
    this.objects = element('ul', {class: 'objects', 'aria-label': 'Objects at this step'});
    this.detail = element('div', {class: 'detail'});
    this.restart = element('button', {type: 'button', onclick: () => { this.reset(); changed(); }}, 'Start again');
    parent.append(
      element('div', {class: 'controls'},
        element('button', {type: 'button', 'aria-label': 'Previous step', onclick: () => this.#go(this.#at - 1)}, '‹'),
        this.play,
        element('button', {type: 'button', 'aria-label': 'Next step', onclick: () => this.#go(this.#at + 1)}, '›'),
        element('label', {for: 'step', class: 'hidden'}, 'Step'), this.slider, this.count),
      this.happened, this.objects, this.detail,
      element('div', {class: 'controls'}, element('span', {}, 'Let time pass:'),
        ...WAITS.map(([label, wait]) => element('button', {type: 'button', onclick: () => this.#wait(wait)}, label)), this.restart));
  }

  // request returns what to add to the request for a timeline.
  request() {
    return {actions: this.#actions, until: this.#until};
  }

  reset() {
    this.#actions = [];
    this.#until = 0;
    this.#at = 0;
    this.#last = false;
    this.#selected = undefined;
    this.#stop();
  }

  show({steps, problem, end}) {
    this.#steps = steps;
    this.end = end;
    this.problem = problem;
    this.slider.max = Math.max(steps.length - 1, 0);
    this.restart.disabled = this.#actions.length === 0 && this.#until === 0;
    let at = this.#last ? steps.length - 1 : Math.min(this.#at, steps.length - 1);
    if (this.#after !== undefined) {
      const effect = steps.findIndex((s, i) => i > this.#at && s.by === 'you' && s.at >= this.#after);
      at = effect >= 0 ? effect : at;
      this.#after = undefined;
    }
    this.#go(at);
  }

  #go(at) {
    this.#at = Math.min(Math.max(at, 0), this.#steps.length - 1);
    const ended = this.#at === this.#steps.length - 1;
    this.#last = ended && this.#steps.length > 1;
    if (ended) {
      this.#stop();
    }
    this.slider.value = this.#at;
    const step = this.#steps[this.#at];
    this.happened.textContent = this.problem && ended ? this.problem : step ? told(step) : 'Nothing happens.';
    this.count.textContent = step ? `${this.#at + 1} of ${this.#steps.length}` : '';
    this.slider.setAttribute('aria-valuetext', step ? `${this.#at + 1} of ${this.#steps.length}: ${told(step)}` : 'no steps');
    this.#list();
  }

  #list() {
    const now = new Map();
    for (const step of this.#steps.slice(0, this.#at + 1)) {
      const key = keyOf(step.object);
      now.delete(step.text === '' ? key : undefined);
      if (step.text !== '') {
        now.set(key, step);
      }
    }
    const current = this.#steps[this.#at];
    this.objects.replaceChildren(...[...now].map(([key, step]) => element('li', {class: step === current ? 'current' : ''},
      element('button', {type: 'button', 'aria-pressed': String(key === this.#selected), onclick: () => this.#select(key)},
        element('span', {class: 'name'}, nameOf(step.object)),
        element('span', {class: `state ${step.state}`}, step.verb === 'deleting' ? 'being deleted' : step.state),
        ...(step.message && step.state !== 'ready' ? [element('span', {class: 'why'}, step.message)] : [])))));
    if (current?.text === '') {
      this.objects.append(element('li', {class: 'gone'}, `${nameOf(current.object)} is deleted`));
    }
    this.#show(now.get(this.#selected ?? (current && keyOf(current.object))));
  }

  #select(key) {
    this.#selected = this.#selected === key ? undefined : key;
    this.#list();
    [...this.objects.querySelectorAll('button')].find((b) => b.getAttribute('aria-pressed') === 'true')?.focus();
  }

  #show(step) {
    if (!step) {
      this.detail.replaceChildren();
      return;
    }
    const act = (verb, text) => element('button', {type: 'button', 'aria-label': `${text}: ${nameOf(step.object)}`, onclick: () => this.#act(verb, step.object)}, text);
    this.detail.replaceChildren(
      element('div', {class: 'controls'}, element('h3', {}, nameOf(step.object)), act('delete', 'Delete it'), ...(step.child ? [act('change', 'Change a field')] : [])),
      element('pre', {class: 'yaml', tabindex: 0, role: 'group', 'aria-label': nameOf(step.object)}, yaml(step.text)));
  }

  #act(verb, object) {
    this.#stop();
    const at = this.#steps[this.#at].at;
    this.#actions = [...this.#actions.filter((a) => a.at <= at), {at, verb, ...object}];
    this.#after = at;
    this.#last = false;
    this.#changed();
  }

  #wait(wait) {
    this.#until = this.end + wait;
    this.#last = true;
    this.#changed();
  }

  #toggle() {
    if (this.#playing) {
      this.#stop();
      return;
    }
    if (this.#last) {
      this.#go(0);
    }
    this.play.textContent = 'Pause';
    this.#playing = setInterval(() => this.#go(this.#at + 1), PLAY);
  }

  #stop() {
    clearInterval(this.#playing);
    this.#playing = undefined;
    this.play.textContent = 'Play';
  }
}

// told returns a step in a sentence.
function told(step) {
  const verb = step.verb === 'deleting' ? 'began to delete' : step.verb;
  return `${clock(step.at)} ${step.by} ${verb} ${nameOf(step.object)}${step.fields ? ': ' + step.fields.join(', ') : ''}`;
}

// clock returns a time since the start, such as 1:05 or 2d 3:00:00.
function clock(milliseconds) {
  const s = Math.floor(milliseconds / 1000);
  const two = (n) => String(n).padStart(2, '0');
  const days = Math.floor(s / 86_400), hours = Math.floor(s / 3600) % 24, minutes = Math.floor(s / 60) % 60;
  return (days ? `${days}d ` : '') + (days || hours ? `${hours}:${two(minutes)}` : minutes) + ':' + two(s % 60);
}
