import ELK from 'elkjs/lib/elk-api.js';
import {element, svg} from './dom.js';
import {Zoom} from './zoom.js';

const FONT = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
const SIZE = 14, LINE = 19, PADDING = 12, HEAD = 8, MARGIN = 4; // pixels
const READABLE = 13 / SIZE; // the smallest scale to start with
const STYLES = {reads: 'reads', decides: 'decides', waits: 'waits until ready'};
const STATES = {ready: 'ready', waiting: 'waiting or progressing', missing: 'missing', failed: 'failed or stalled', excluded: 'excluded', unknown: 'unknown'};
const LAYOUT = {
  'elk.algorithm': 'layered', 'elk.direction': 'DOWN', 'elk.edgeRouting': 'ORTHOGONAL', 'elk.padding': `[top=${MARGIN},left=${MARGIN},bottom=${MARGIN},right=${MARGIN}]`,
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES', 'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.spacing.nodeNode': '24', 'elk.spacing.edgeNode': '14', 'elk.spacing.edgeEdge': '12',
  'elk.layered.spacing.nodeNodeBetweenLayers': '28', 'elk.layered.spacing.edgeNodeBetweenLayers': '16', 'elk.layered.spacing.edgeEdgeBetweenLayers': '12',
};

const pen = document.createElement('canvas').getContext('2d');

// A GraphView shows diagrams, and a key of their lines and colours. A worker lays them out.
export class GraphView {
  #elk;
  #newest = 0;
  #fresh = true; // choose where and how large to start

  constructor(parent) {
    this.canvas = element('div', {class: 'canvas', tabindex: 0, role: 'group', 'aria-label': 'Graph: the arrow keys scroll, plus and minus zoom, 0 fits the width'});
    this.key = element('div');
    this.zoom = new Zoom(this.canvas);
    parent.append(this.zoom.controls, this.canvas, this.key);
  }

  // reset starts again at a readable size with the next diagrams.
  reset() {
    this.#fresh = true;
  }

  async show(diagrams) {
    const mine = ++this.#newest;
    this.#elk ??= new ELK({workerUrl: 'elk-worker.min.js'});
    const pictures = await Promise.all(diagrams.map((d) => picture(this.#elk, d)));
    if (mine !== this.#newest) {
      return; // A newer graph is on its way.
    }
    this.canvas.replaceChildren(...diagrams.map((d, i) => element('figure', {class: 'graph'}, element('figcaption', {}, d.title), pictures[i])));
    this.key.replaceChildren(...(diagrams.length > 0 ? [key(diagrams)] : [element('p', {class: 'hint'}, 'There is nothing to draw.')]));
    if (this.#fresh) {
      this.zoom.to(Math.min(Math.max(this.zoom.fitting(), READABLE), 1));
      this.canvas.querySelector('.primary')?.scrollIntoView({block: 'nearest', inline: 'center'});
      this.canvas.scrollTop = 0;
      this.#fresh = false;
    } else {
      this.zoom.to(this.zoom.scale);
    }
  }
}

function key(diagrams) {
  const styles = new Set(diagrams.flatMap(({edges = []}) => edges.map((e) => e.style)));
  const states = new Set(diagrams.flatMap(({nodes}) => nodes.map((n) => n.state)));
  return element('ul', {class: 'graph key', 'aria-label': 'Lines and colours'},
    ...Object.entries(STYLES).filter(([s]) => styles.has(s)).map(([s, text]) => element('li', {class: s}, text)),
    ...Object.entries(STATES).filter(([s]) => states.has(s)).map(([s, text]) => element('li', {class: s}, text)));
}

async function picture(elk, {title, nodes, edges = []}) {
  const graph = await elk.layout({
    id: 'graph', layoutOptions: LAYOUT,
    children: nodes.map((n, i) => ({id: `n${i}`, ...size(n.lines, PADDING)})),
    edges: edges.map((e, i) => ({id: `e${i}`, sources: [`n${e.from}`], targets: [`n${e.to}`], labels: e.lines ? [{text: e.lines.join('\n'), layoutOptions: {'elk.edgeLabels.inline': 'true'}, ...size(e.lines, PADDING / 2)}] : []})),
  });
  const labels = graph.edges.flatMap((e, i) => e.labels.map((at) => ({...at, lines: edges[i].lines})));
  const {width, height} = graph;
  return svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `Graph of ${title}: what each part reads and waits for`, 'font-family': FONT, 'font-size': SIZE},
    ...graph.edges.map((e, i) => arrow(e.sections[0], edges[i].style)), ...labels.map(label), ...graph.children.map((at, i) => box({...at, ...nodes[i]})));
}

// size returns that of lines of text with a margin.
function size(lines, margin) {
  pen.font = `bold ${SIZE}px ${FONT}`;
  return {width: Math.ceil(Math.max(...lines.map((text) => pen.measureText(text).width))) + 2 * margin, height: lines.length * LINE + margin};
}

function arrow({startPoint, bendPoints = [], endPoint}, style) {
  const points = [startPoint, ...bendPoints, endPoint], before = points.at(-2);
  const angle = Math.atan2(endPoint.y - before.y, endPoint.x - before.x), back = {x: endPoint.x - HEAD / 2 * Math.cos(angle), y: endPoint.y - HEAD / 2 * Math.sin(angle)};
  return svg('g', {class: style}, svg('polyline', {class: 'line', points: [...points.slice(0, -1), back].map(({x, y}) => `${x},${y}`).join(' ')}),
    svg('path', {class: 'head', d: `M0 0l${-HEAD} -4v8z`, transform: `translate(${endPoint.x} ${endPoint.y}) rotate(${angle * 180 / Math.PI})`}));
}

function label(at) {
  return svg('g', {class: 'label'}, rectangle(at, 0), ...text(at, 'faint'));
}

function box(at) {
  const corner = {primary: at.height / 2, patch: PADDING, status: PADDING, condition: PADDING}[at.kind] ?? 3;
  return svg('g', {class: `box ${at.kind} ${at.state ?? ''}`}, rectangle(at, corner), ...text(at, 'name'));
}

function rectangle({x, y, width, height}, corner) {
  return svg('rect', {x, y, width, height, rx: corner});
}

// text returns the lines of a box or label. Only the first one may have another class.
function text({x, y, width, height, lines}, first) {
  const top = y + (height - lines.length * LINE) / 2 + LINE - 5;
  return lines.map((line, i) => svg('text', {class: i === 0 ? first : 'faint', 'text-anchor': 'middle', x: x + width / 2, y: top + i * LINE}, line));
}
