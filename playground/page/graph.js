import {Graph, layout} from '@dagrejs/dagre';
import {element, svg} from './dom.js';

const FONT = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
const SIZE = 12, LINE = 16, PADDING = 10, HEAD = 8, GAP = 24, MARGIN = 2, SMALLEST = 0.85; // pixels, and a scale
const STYLES = {reads: 'reads', decides: 'decides', waits: 'waits until ready'};
const STATES = ['ready', 'waiting', 'missing', 'failed', 'excluded', 'unknown'];

const pen = document.createElement('canvas').getContext('2d');

// draw returns the pictures of diagrams, and a key of their lines and colours.
export function draw(diagrams) {
  return [...diagrams.map((d) => element('figure', {class: 'graph'}, element('figcaption', {}, d.title), picture(d))), key(diagrams)];
}

function key(diagrams) {
  const styles = new Set(diagrams.flatMap(({edges = []}) => edges.map((e) => e.style)));
  const states = new Set(diagrams.flatMap(({nodes}) => nodes.map((n) => n.state)));
  return element('ul', {class: 'graph key', 'aria-label': 'Lines and colours'},
    ...Object.keys(STYLES).filter((s) => styles.has(s)).map((s) => element('li', {class: s}, STYLES[s])),
    ...STATES.filter((s) => states.has(s)).map((s) => element('li', {class: s}, s)));
}

function picture({title, nodes, edges = []}) {
  const g = new Graph({multigraph: true}); // To break cycles, the layout turns edges around.
  g.setGraph({nodesep: GAP, edgesep: GAP / 2, ranksep: 3 * GAP});
  const boxes = nodes.map((n) => ({...n, ...size(n.lines, PADDING)}));
  const arrows = edges.map((e) => ({...e, ...size(e.lines ?? [], PADDING / 2), labelpos: 'c'}));
  boxes.forEach((b, i) => g.setNode(`${i}`, b));
  arrows.forEach((a, i) => g.setEdge(`${a.from}`, `${a.to}`, a, `${i}`));
  layout(g);
  for (const a of arrows) {
    const from = boxes[a.from], to = boxes[a.to], side = Math.sign(to.y - from.y); // 1: down
    a.ends = [{box: from, side, towards: a.points[1].x}, {box: to, side: -side, towards: a.points.at(-2).x}];
  }
  for (const box of boxes) {
    for (const side of [1, -1]) {
      join(box, arrows.flatMap((a) => a.ends).filter((e) => e.box === box && e.side === side));
    }
  }
  const labels = arrows.filter((a) => a.lines);
  const heights = new Map(); // of the layers, by their middle
  for (const {y, height} of [...boxes, ...labels]) {
    heights.set(y, Math.max(heights.get(y) ?? 0, height));
  }
  const sides = [...boxes, ...labels].flatMap(({x, width}) => [x - width / 2, x + width / 2]).concat(arrows.flatMap((a) => a.points.map((p) => p.x)));
  const left = Math.min(...sides) - MARGIN, width = Math.max(...sides) + MARGIN - left, height = g.graph().height + 2 * MARGIN;
  return svg('svg', {width, height, viewBox: `${left} ${-MARGIN} ${width} ${height}`, role: 'img', 'aria-label': `Graph of ${title}: what each part reads and waits for`, 'font-family': FONT, 'font-size': SIZE, style: `min-width: ${SMALLEST * width}px`},
    ...arrows.map((a) => arrow(a, heights)), ...labels.map(label), ...boxes.map(box));
}

// size returns that of lines of text with a margin. Without lines there is no margin.
function size(lines, margin) {
  pen.font = `bold ${SIZE}px ${FONT}`;
  const width = Math.max(...lines.map((text) => pen.measureText(text).width));
  return lines.length === 0 ? {width: 0, height: 0} : {width: Math.ceil(width) + 2 * margin, height: lines.length * LINE + margin};
}

// join sets where lines meet a side of a box: as straight as possible, and apart from each other.
function join({x, width}, ends) {
  const most = width / 2 - PADDING, gap = Math.min(GAP / 2, (2 * most) / (ends.length - 1));
  let last = -Infinity;
  ends.sort((a, b) => a.towards - b.towards).forEach((end, i) => {
    last = Math.min(Math.max(end.towards, last + gap, x - most + i * gap), x + most - (ends.length - 1 - i) * gap);
    end.x = last;
  });
}

// arrow returns a line that is straight where it passes a layer, so that it crosses no box and
// no label, and curved between layers.
function arrow({points, style, ends: [begin, end]}, heights) {
  const half = (y) => begin.side * ((heights.get(y) ?? 0) / 2 + HEAD), border = ({box, side}) => box.y + (side * box.height) / 2;
  let x = begin.x, leave = begin.box.y + half(begin.box.y), way = `M${x} ${border(begin)}`;
  for (const at of [...points.slice(1, -1), {x: end.x, y: end.box.y}]) {
    const enter = at.y - half(at.y), middle = (leave + enter) / 2;
    way += `V${leave}C${x} ${middle} ${at.x} ${middle} ${at.x} ${enter}`;
    x = at.x;
    leave = at.y + half(at.y);
  }
  const tip = border(end), back = end.side * HEAD;
  return svg('g', {class: style}, svg('path', {class: 'line', d: `${way}V${tip + back / 2}`}), svg('path', {class: 'head', d: `M${x} ${tip}l-4 ${back}h8z`}));
}

function label(at) {
  return svg('g', {class: 'label'}, rectangle(at, 0), ...text(at, 'faint'));
}

function box(at) {
  const corner = {primary: at.height / 2, patch: PADDING, status: PADDING, condition: PADDING}[at.kind] ?? 3;
  return svg('g', {class: `box ${at.kind} ${at.state ?? ''}`}, rectangle(at, corner), ...text(at, 'name'));
}

function rectangle({x, y, width, height}, corner) {
  return svg('rect', {x: x - width / 2, y: y - height / 2, width, height, rx: corner});
}

// text returns the lines of a box or label. Only the first one may have another class.
function text({x, y, lines}, first) {
  const top = y - (lines.length * LINE) / 2 + LINE - 4;
  return lines.map((line, i) => svg('text', {class: i === 0 ? first : 'faint', 'text-anchor': 'middle', x, y: top + i * LINE}, line));
}
