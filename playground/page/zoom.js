import {element} from './dom.js';

const STEP = 1.25, SMALLEST = 0.2, LARGEST = 3;

// A Zoom zooms the pictures in an element that scrolls: with buttons, keys, the wheel and two
// fingers. Scrolling moves them, and so does dragging with a mouse.
export class Zoom {
  scale = 1;
  #canvas;

  constructor(canvas) {
    this.#canvas = canvas;
    this.shown = element('output', {'aria-label': 'Size'}, '100 %');
    const button = (text, label, onclick) => element('button', {type: 'button', 'aria-label': label, title: label, onclick}, text);
    this.controls = element('div', {class: 'controls zoom', role: 'group', 'aria-label': 'Zoom'},
      button('−', 'Zoom out', () => this.to(this.scale / STEP)), this.shown, button('+', 'Zoom in', () => this.to(this.scale * STEP)),
      button('Fit', 'Fit the width', () => this.to(this.fitting())));
    canvas.addEventListener('keydown', (event) => this.#press(event));
    canvas.addEventListener('wheel', (event) => this.#turn(event), {passive: false});
    canvas.addEventListener('pointerdown', (event) => this.#drag(event));
    canvas.addEventListener('touchstart', (event) => this.#pinch(event), {passive: false});
  }

  // fitting returns the scale at which the widest picture fits.
  fitting() {
    return this.#room() / Math.max(1, ...this.#pictures().map((p) => p.viewBox.baseVal.width));
  }

  // to changes the scale. What is at a point of the window stays there.
  to(scale, at = this.#middle()) {
    const canvas = this.#canvas, frame = canvas.getBoundingClientRect();
    const x = at.x - frame.left, y = at.y - frame.top, before = this.scale;
    const left = canvas.scrollLeft + x, top = canvas.scrollTop + y;
    this.scale = Math.min(Math.max(scale, SMALLEST), LARGEST);
    for (const picture of this.#pictures()) {
      picture.setAttribute('width', picture.viewBox.baseVal.width * this.scale);
      picture.setAttribute('height', picture.viewBox.baseVal.height * this.scale);
    }
    canvas.scrollTo(left * this.scale / before - x, top * this.scale / before - y);
    this.shown.textContent = `${Math.round(this.scale * 100)} %`;
  }

  #pictures() {
    return [...this.#canvas.querySelectorAll('svg')];
  }

  #room() {
    const {paddingLeft, paddingRight} = getComputedStyle(this.#canvas);
    return this.#canvas.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
  }

  #middle() {
    const {left, top, width, height} = this.#canvas.getBoundingClientRect();
    return {x: left + width / 2, y: top + height / 2};
  }

  #press(event) {
    const scale = {'+': this.scale * STEP, '=': this.scale * STEP, '-': this.scale / STEP, 0: this.fitting()}[event.key];
    if (scale && !event.ctrlKey && !event.metaKey && !event.altKey) {
      this.to(scale);
      event.preventDefault();
    }
  }

  // The browser reports two fingers on a trackpad as a wheel with Ctrl.
  #turn(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.to(this.scale * Math.exp(-event.deltaY / 300), {x: event.clientX, y: event.clientY});
    }
  }

  #drag(event) {
    if (event.pointerType !== 'mouse' || event.button !== 0 || event.target === this.#canvas && this.#onScrollbar(event)) {
      return;
    }
    const canvas = this.#canvas, ended = new AbortController(), {signal} = ended;
    canvas.setPointerCapture(event.pointerId);
    canvas.addEventListener('pointermove', ({movementX, movementY}) => canvas.scrollBy(-movementX, -movementY), {signal});
    for (const end of ['pointerup', 'pointercancel']) {
      canvas.addEventListener(end, () => ended.abort(), {signal});
    }
  }

  #onScrollbar({offsetX, offsetY}) {
    return offsetX > this.#canvas.clientWidth || offsetY > this.#canvas.clientHeight;
  }

  #pinch(event) {
    if (event.touches.length !== 2) {
      return;
    }
    event.preventDefault();
    const canvas = this.#canvas, began = this.scale, ended = new AbortController(), {signal} = ended;
    const distance = ([a, b]) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY), first = distance(event.touches);
    canvas.addEventListener('touchmove', (moved) => {
      const [a, b] = moved.touches;
      if (b) {
        moved.preventDefault();
        this.to(began * distance(moved.touches) / first, {x: (a.clientX + b.clientX) / 2, y: (a.clientY + b.clientY) / 2});
      }
    }, {signal, passive: false});
    for (const end of ['touchend', 'touchcancel']) {
      canvas.addEventListener(end, () => ended.abort(), {signal});
    }
  }
}
