import {createEditor} from './editor.js';
import {GraphView} from './graph.js';
import {yaml} from './highlight.js';
import {Program, Superseded} from './program.js';
import {decode, encode} from './share.js';
import {tabs} from './tabs.js';
import {TimelineView} from './timeline.js';
import {$, element} from './dom.js';

const FILES = ['rules.yaml', 'resources.yaml', 'observed.yaml', 'crds.yaml'];
const DEBOUNCE = 40; // milliseconds

const program = new Program(PROGRAM, say); // build.js defines PROGRAM.
const editors = {};
let part = 'play';
let timer;
let examples = [];

const timeline = new TimelineView($('#panel-play'), update);
const graph = new GraphView($('#panel-graph'));

for (const file of FILES) {
  const parent = $(`.editor[data-file="${file}"]`);
  editors[file] = createEditor(parent, labelOf(file), changed);
}

function labelOf(file) {
  return {'rules.yaml': 'Rules', 'resources.yaml': 'Resources', 'observed.yaml': 'Objects of the cluster', 'crds.yaml': 'CRDs'}[file];
}

function texts() {
  return Object.fromEntries(FILES.map((file) => [file, editors[file].text()]));
}

// project returns the request for what is in the editors. A file without text does not exist.
function project() {
  const files = Object.fromEntries(Object.entries(texts()).filter(([file, text]) => file === 'rules.yaml' || text.trim() !== ''));
  const named = (file) => (file in files ? [file] : []);
  return {files, rules: ['rules.yaml'], resources: named('resources.yaml'), observed: named('observed.yaml'), crds: named('crds.yaml')};
}

function changed() {
  tell('');
  clearTimeout(timer);
  timer = setTimeout(update, DEBOUNCE);
}

async function update() {
  const asked = part;
  const request = {part: asked, project: project(), ...(asked === 'play' ? timeline.request() : {})};
  try {
    show(asked, await program.ask(request));
  } catch (error) {
    if (!(error instanceof Superseded)) {
      say(error.message);
    }
  }
}

// say shows how the rules are. tell shows a message until somebody edits a text.
function say(text) {
  $('#status').textContent = text;
}

function tell(text) {
  $('#message').textContent = text;
}

function show(asked, answer) {
  const errors = answer.findings.filter((f) => f.severity === 'error').length;
  $('#status').classList.toggle('error', errors > 0);
  say(errors > 0 ? `${errors} ${errors === 1 ? 'error' : 'errors'}` : answer.report.trim().split('\n').at(-1) || 'ok');
  for (const file of FILES) {
    const found = answer.findings.filter((f) => f.position.file === file);
    editors[file].complain(found);
    complain(file, found);
  }
  remark(answer.notes ?? '', answer.failures ?? []);
  $('#result').classList.toggle('stale', errors > 0);
  if (errors > 0) {
    return; // The last result stays, and looks stale.
  }
  if (asked === 'render') {
    $('#objects').replaceChildren(yaml(answer.result));
  } else if (asked === 'graph') {
    graph.show(answer.graph ?? []).catch((error) => say(`The graph cannot be drawn: ${error.message}`));
  } else if (answer.timeline) {
    timeline.show(answer.timeline);
  }
}

// remark shows notes. Only those that are failures are marked, and opened: the others say what rules leave out.
function remark(notes, failures) {
  const pieces = [];
  let rest = notes;
  for (const failure of failures) {
    const [before] = rest.split(failure, 1);
    pieces.push(before, element('strong', {class: 'failure'}, failure));
    rest = rest.slice(before.length + failure.length);
  }
  $('#notes').replaceChildren(...pieces, rest);
  $('#remarks').hidden = notes === '';
  $('#remarks').open ||= failures.length > 0;
  $('#remarks-title').textContent = failures.length > 0 ? `${failures.length} failed` : 'Nothing failed. See what is left out or waits, and why';
  $('#remarks-title').classList.toggle('failure', failures.length > 0);
}

// complain lists findings as buttons that lead to their position. Only changes are announced.
function complain(file, found) {
  const list = $(`.complaints[data-file="${file}"]`);
  const text = JSON.stringify(found);
  if (list.dataset.shown === text) {
    return;
  }
  list.dataset.shown = text;
  list.replaceChildren(...found.map((f) => element('li', {class: f.severity},
    element('button', {type: 'button', onclick: () => editors[file].goTo(f.position)},
      element('span', {class: 'severity'}, f.severity), ` ${f.position.line}:${f.position.column} `,
      f.message + (f.hint ? ` (${f.hint})` : '')))));
}

function load(files, shows = '') {
  for (const file of FILES) {
    editors[file].set(files[file] ?? '');
  }
  timeline.reset();
  graph.reset();
  $('#remarks').open = false;
  $('#shows').textContent = shows;
  update();
}

function choose(name) {
  const example = examples.find((e) => e.name === name);
  if (example) {
    load(example.files, example.shows);
  }
}

async function share() {
  try {
    const link = new URL(location.href);
    link.hash = await encode(texts());
    history.replaceState(null, '', link);
    $('#example').value = '';
    await navigator.clipboard.writeText(link.href).then(() => tell('The link is copied.'), () => tell('The link is in the address bar.'));
  } catch (error) {
    tell(error.message);
  }
}

// open loads what the link has, or the first example.
async function open() {
  if (location.hash.length > 1) {
    try {
      load(await decode(location.hash.slice(1)));
      $('#example').value = '';
      return;
    } catch (error) {
      tell(error.message);
    }
  }
  $('#example').value = examples[0].name;
  choose(examples[0].name);
}

// showPane shows a pane where there is room for only one.
function showPane(pane) {
  for (const button of document.querySelectorAll('nav button')) {
    const shown = button.dataset.pane === pane;
    button.setAttribute('aria-current', String(shown));
    $('#' + button.dataset.pane).classList.toggle('shown', shown);
  }
}

async function start() {
  tabs($('#resources [role=tablist]'), () => {});
  tabs($('#result [role=tablist]'), (tab) => {
    part = tab.id.replace('tab-', '');
    update();
  });
  examples = await (await fetch('examples.json')).json();
  $('#example').replaceChildren(element('option', {value: ''}, 'your own'), ...examples.map((e) => element('option', {value: e.name, title: e.shows}, e.name)));
  $('#example').onchange = (event) => {
    history.replaceState(null, '', location.pathname);
    tell('');
    choose(event.target.value);
  };
  $('#share').onclick = share;
  window.onhashchange = open;
  for (const button of document.querySelectorAll('nav button')) {
    button.onclick = () => {
      showPane(button.dataset.pane);
      $('#' + button.dataset.pane).scrollIntoView();
      $('#' + button.dataset.pane).focus({preventScroll: true});
    };
  }
  showPane('result');
  await open();
}

start().catch((error) => say(`The page does not work: ${error.message}`));
