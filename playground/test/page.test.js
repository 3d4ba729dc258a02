// Tests of the page in headless Chromium. Usage: node --test, with
// PLAYGROUND=http://127.0.0.1:8090/ and RECONCEL=the command to compare with.
import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {promisify} from 'node:util';
import {chromium} from 'playwright-core';

const page_ = process.env.PLAYGROUND;
const reconcel = process.env.RECONCEL;
const run = promisify(execFile);
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

const LOAD = 5000, TYPING = 200; // milliseconds

let browser, page;
const sent = []; // requests to other places
const errors = []; // of the page

before(async () => {
  browser = await chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: flags});
  page = await open();
});
after(() => browser?.close());

// open returns the page with the objects that are rendered. It opens with what happens over time.
async function open(options = {}, fragment = '') {
  const page = await visit(options, fragment);
  await page.click('#tab-render');
  await page.waitForFunction(() => document.querySelector('#objects').textContent.includes('kind:'), null, {timeout: 60_000});
  return page;
}

// visit returns the page as it opens.
async function visit(options = {}, fragment = '') {
  const context = await browser.newContext({viewport: {width: 1400, height: 850}, ...options});
  const page = await context.newPage();
  page.on('request', (request) => request.url().startsWith(page_) || request.url().startsWith('data:') || sent.push(request.url()));
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.goto(page_ + fragment);
  await page.waitForSelector('.objects li', {timeout: 60_000});
  return page;
}

// choose selects an example, and waits for its result.
async function choose(page, name) {
  await page.selectOption('#example', name);
  await page.waitForFunction(() => /ok$|error/.test(document.querySelector('#status').textContent));
}

test('the first result is there soon', async () => {
  const began = Date.now();
  const second = await visit();
  const took = Date.now() - began;
  await second.context().close();
  console.log(`loaded in ${took} ms`);
  assert.ok(took < LOAD, `${took} ms`);
});

for (const [width, height] of [[1400, 900], [360, 740]]) {
  test(`${width} px: a visitor sees what it is, the docs, and the first step of what happens over time`, async () => {
    const other = await visit({viewport: {width, height}});
    assert.match(await other.textContent('#about'), /^reconcel is a Kubernetes controller that you configure with rules/);
    assert.equal(await other.getAttribute('#tab-play', 'aria-selected'), 'true');
    assert.match(await other.textContent('#happened'), /^0:00 you created Foo example-foo$/);
    assert.equal(await other.textContent('.count'), '1 of 5');
    for (const selector of ['#about', '#happened', '.objects li', 'button:text("Play")']) {
      const box = await other.locator(selector).boundingBox();
      assert.ok(box && box.y + box.height <= height && box.x >= 0 && box.x + box.width <= width, `${selector} is visible at once: ${JSON.stringify(box)}`);
    }
    assert.deepEqual(await states(other), ['Foo example-foo: waiting: reconcel has not written conditions yet']);
    await other.click('button:text("Play")');
    await other.waitForFunction(() => document.querySelector('.count').textContent === '5 of 5');
    assert.deepEqual(await states(other), ['Foo example-foo: ready', 'Deployment example-foo: ready'].sort());
    await other.context().close();
  });
}

// states returns the objects over time, as they are read.
async function states(page) {
  return (await page.$$eval('.objects li button', (all) => all.map((b) => [...b.children].map((e) => e.textContent).join(': ')))).sort();
}

test('every link of the page and of its docs leads somewhere', async () => {
  const seen = new Map(), queue = ['index.html'];
  while (queue.length > 0) {
    const path = queue.pop();
    if (seen.has(path)) {
      continue;
    }
    const response = await fetch(page_ + path);
    assert.equal(response.status, 200, path);
    const text = await response.text();
    seen.set(path, text);
    for (const [, href] of text.matchAll(/<a href="([^"#]*)(?:#[^"]*)?"/g)) {
      if (href && !/^[a-z]+:/.test(href)) {
        queue.push(new URL(href, page_ + path).pathname.slice(1));
      }
    }
  }
  for (const [path, text] of seen) {
    for (const [, href, anchor] of text.matchAll(/<a href="([^"#]*)#([^"]*)"/g)) {
      const to = href ? new URL(href, page_ + path).pathname.slice(1) : path;
      assert.ok(/^[a-z]+:/.test(href) || seen.get(to).includes(`id="${anchor}"`), `${path}: ${to}#${anchor}`);
    }
  }
  assert.ok(seen.size > 30, `${seen.size} pages`);
});

test('notes that are no failures are closed and say so; a failure is opened, and told', async () => {
  await choose(page, 'webapp');
  await page.waitForSelector('#remarks:not([hidden])');
  assert.match(await page.textContent('#remarks-title'), /^Nothing failed/);
  assert.equal(await page.locator('#remarks').getAttribute('open'), null);
  assert.equal(await page.locator('#notes .failure').count(), 0);
  await choose(page, 'foo');
  await page.click('[data-file="resources.yaml"] .cm-content');
  await page.keyboard.press('Control+A');
  await page.evaluate(() => document.execCommand('insertText', false, 'apiVersion: samplecontroller.k8s.io/v1alpha1\nkind: Foo\nmetadata: {name: bad}\nspec: {deploymentName: "", replicas: 1}\n'));
  await page.waitForFunction(() => /^1 failed$/.test(document.querySelector('#remarks-title').textContent));
  assert.ok(await page.isVisible('#notes'));
  assert.match(await page.textContent('#notes .failure'), /spec\.deploymentName must be set/);
  await page.click('#tab-play');
  await page.waitForFunction(() => document.querySelector('.objects')?.textContent.includes('Foo bad'));
  await page.focus('#step');
  await page.keyboard.press('End');
  assert.deepEqual(await states(page), ['Foo bad: failed: spec.deploymentName must be set']);
  await page.click('#tab-render');
});

test('the result of every example is that of the command, byte for byte', async () => {
  const examples = await (await fetch(page_ + 'examples.json')).json();
  assert.ok(examples.length >= 25, `${examples.length} examples`);
  for (const {name, files} of examples) {
    const want = await command('render', files);
    await page.selectOption('#example', name);
    await page.waitForFunction((want) => document.querySelector('#objects').textContent === want, want.stdout, {timeout: 20_000}).catch(() => {});
    assert.equal(await page.textContent('#objects'), want.stdout, name);
    assert.equal(await page.textContent('#notes'), want.stderr, name);
  }
});

// command runs a command with the files of an example.
async function command(name, files) {
  const folder = await mkdtemp(join(tmpdir(), 'playground-'));
  try {
    const args = [name];
    for (const [file, text] of Object.entries(files)) {
      if (text) {
        await writeFile(join(folder, file), text);
        args.push({'rules.yaml': '--rules', 'resources.yaml': '--resources', 'observed.yaml': '--observed', 'crds.yaml': '--crd'}[file], file);
      }
    }
    return await run(reconcel, args, {cwd: folder}).catch((failed) => failed);
  } finally {
    await rm(folder, {recursive: true});
  }
}

test('what is typed is rendered at once', async () => {
  await choose(page, 'foo');
  await page.click('[data-file="resources.yaml"] .cm-line:nth-child(7)');
  await page.keyboard.press('End');
  const times = [];
  for (let n = 1; n <= 12; n++) {
    times.push(await page.evaluate((n) => new Promise((resolve) => {
      const want = `replicas: 1${'0'.repeat(n)}`;
      const began = performance.now();
      const look = () => document.querySelector('#objects').textContent.includes(want) ? resolve(performance.now() - began) : requestAnimationFrame(look);
      document.execCommand('insertText', false, '0');
      look();
    }), n > 8 ? 8 : n));
    if (n >= 8) {
      await page.keyboard.press('Backspace');
      await page.waitForFunction((want) => !document.querySelector('#objects').textContent.includes(want), 'replicas: 100000000');
    }
  }
  times.sort((a, b) => a - b);
  const median = Math.round(times[times.length / 2]);
  console.log(`typing to result: median ${median} ms, all ${times.map(Math.round)}`);
  assert.ok(median < TYPING, `${median} ms`);
});

test('a mistake is underlined where it is, told, and can be reached', async () => {
  await choose(page, 'foo');
  await page.click('[data-file="rules.yaml"] .cm-line:nth-child(17)');
  await page.keyboard.press('End');
  await page.keyboard.type(' && self.spec.nothere == 1');
  const entry = page.locator('.complaints[data-file="rules.yaml"] .error button', {hasText: 'nothere'}).first();
  await entry.waitFor();
  assert.match(await entry.textContent(), /error 17:\d+ .*nothere/);
  const underlined = await page.textContent('[data-file="rules.yaml"] .cm-lintRange-error');
  assert.match(underlined, /nothere/);
  assert.equal(await page.getAttribute('.complaints[data-file="rules.yaml"]', 'aria-live'), 'polite');
  assert.match(await page.textContent('#status'), /^1 error$/);
  await entry.focus();
  await page.keyboard.press('Enter');
  assert.ok(await page.evaluate(() => document.activeElement.closest('[data-file="rules.yaml"]') !== null), 'the focus is in the rules');
});

test('objects appear over time; a deleted one and a changed one come back', async () => {
  await choose(page, 'foo');
  await page.click('#tab-play');
  await page.waitForFunction(() => document.querySelector('.count').textContent === '1 of 5');
  await page.focus('#step');
  await page.keyboard.press('End');
  const objects = () => page.locator('.objects .name').allTextContents();
  await page.waitForFunction(() => document.querySelectorAll('.objects .state.ready').length === 2);
  await page.focus('#step');
  await page.keyboard.press('Home');
  assert.deepEqual(await objects(), ['Foo example-foo']);
  assert.match(await page.textContent('#happened'), /^0:00 you created Foo example-foo$/);
  await page.keyboard.press('End');
  assert.deepEqual((await objects()).sort(), ['Deployment example-foo', 'Foo example-foo']);
  await page.click('.objects button:has-text("Deployment")');
  await page.click('button:has-text("Change a field")');
  await page.waitForFunction(() => /you configured Deployment.*spec\.replicas: 1 → 2/.test(document.querySelector('#happened').textContent));
  await page.click('[aria-label="Next step"]');
  assert.match(await page.textContent('#happened'), /reconcel configured Deployment.*spec\.replicas: 2 → 1/);
  await page.focus('#step');
  await page.keyboard.press('End');
  await page.click('button:has-text("Delete it")');
  await page.waitForFunction(() => /you deleted Deployment/.test(document.querySelector('#happened').textContent));
  assert.deepEqual(await objects(), ['Foo example-foo']);
  await page.click('[aria-label="Next step"]');
  assert.match(await page.textContent('#happened'), /reconcel created Deployment/);
  await page.click('button:has-text("Start again")');
  await page.waitForFunction(() => document.querySelector('button[disabled]')?.textContent === 'Start again');
});

test('the graph of every example has the text of the command, is readable, and nothing overlaps', async () => {
  await page.click('#tab-graph');
  for (const {name, files} of await (await fetch(page_ + 'examples.json')).json()) {
    const states = await command('graph', files); // It fails for several resources, which have no states.
    const {stdout} = states.stdout ? states : await command('graph', {...files, 'resources.yaml': '', 'observed.yaml': ''});
    await page.selectOption('#example', name);
    await draws(mermaidTexts(stdout), name);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({colorScheme});
      assert.deepEqual(await page.evaluate(flaws), [], `${name}, ${colorScheme}`);
    }
    if (process.env.SHOTS) {
      await page.locator('#panel-graph').screenshot({path: `${process.env.SHOTS}/graph-${name}.png`});
    }
  }
  await page.emulateMedia({colorScheme: null});
  await page.click('#tab-render');
});

test('the graph is readable at once, zooms with buttons, keys, the wheel and fingers, and moves', async () => {
  for (const [width, height] of [[1400, 900], [360, 740]]) {
    const other = await open({viewport: {width, height}, hasTouch: width === 360});
    await other.selectOption('#example', 'webapp');
    await other.click('#tab-graph');
    await other.waitForSelector('#panel-graph svg');
    const text = () => other.$eval('.box text', (e) => e.getBoundingClientRect().height / e.getBBox().height * parseFloat(getComputedStyle(e).fontSize));
    const shown = async () => Number.parseInt(await other.textContent('.zoom output'), 10);
    assert.ok(await text() >= 13 - 0.01, `the text has ${await text()} px`);
    const primary = await other.locator('.box.primary').boundingBox(), canvas = await other.locator('.canvas').boundingBox();
    assert.ok(primary.x >= canvas.x && primary.x + primary.width <= canvas.x + canvas.width && primary.y > canvas.y, 'the primary is visible');
    const first = await shown();
    await other.click('[aria-label="Zoom in"]');
    assert.ok(await shown() > first, 'a button');
    assert.ok(await text() > 16, `the text has ${await text()} px`);
    await other.focus('.canvas');
    await other.keyboard.press('-');
    assert.equal(await shown(), first, 'a key');
    await other.mouse.move(canvas.x + canvas.width / 2, canvas.y + canvas.height / 2);
    await other.keyboard.down('Control');
    await other.mouse.wheel(0, -200);
    await other.keyboard.up('Control');
    await other.waitForFunction((first) => Number.parseInt(document.querySelector('.zoom output').textContent, 10) > first, first);
    await other.click('[aria-label="Fit the width"]');
    assert.ok(await other.$eval('.canvas', (e) => e.scrollWidth <= e.clientWidth), 'it fits');
    for (let i = 0; i < 3; i++) {
      await other.click('[aria-label="Zoom in"]');
    }
    const before = await other.$eval('.canvas', (e) => e.scrollLeft);
    await other.mouse.move(canvas.x + 200, canvas.y + 100);
    await other.mouse.down();
    await other.mouse.move(canvas.x + 140, canvas.y + 100, {steps: 4});
    await other.mouse.up();
    assert.ok(await other.$eval('.canvas', (e) => e.scrollLeft) > before, 'dragging moves it');
    if (width === 360) {
      const now = await shown(), {x, y} = canvas;
      const touch = await other.context().newCDPSession(other);
      const fingers = (type, apart) => touch.send('Input.dispatchTouchEvent', {type, touchPoints: apart ? [{x: x + 150 - apart, y: y + 100, id: 0}, {x: x + 150 + apart, y: y + 100, id: 1}] : []});
      await fingers('touchStart', 30);
      await fingers('touchMove', 45);
      await fingers('touchMove', 60);
      await fingers('touchEnd');
      await other.waitForFunction((now) => Number.parseInt(document.querySelector('.zoom output').textContent, 10) > 1.5 * now, now);
    }
    await other.context().close();
  }
});

test('360 px: one pane is shown at a time, and every button can be hit', async () => {
  const other = await open({viewport: {width: 360, height: 740}});
  for (const pane of ['rules', 'resources', 'result']) {
    await other.click(`nav [data-pane="${pane}"]`);
    assert.deepEqual(await other.$$eval('.pane', (all) => all.filter((e) => e.checkVisibility()).map((e) => e.id)), [pane]);
    for (const tab of pane === 'result' ? ['render', 'play', 'graph'] : ['']) {
      if (tab) {
        await other.click(`#tab-${tab}`);
      }
      const small = await other.$$eval('button, select, summary', (all) => all.filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 40).map((e) => e.textContent));
      assert.deepEqual(small, [], `${pane} ${tab}`);
      assert.ok(await other.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${pane} ${tab}: the page scrolls sideways`);
    }
  }
  await other.context().close();
});

test('text of rules is not markup', async () => {
  const {files} = (await (await fetch(page_ + 'examples.json')).json()).find(({name}) => name === 'foo');
  const rules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- {name: r, for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}, children: [{id: c, when: 'self.metadata.name == "<img src=x onerror=alert(1)>"', template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}}]}
`;
  await choose(page, 'foo');
  await page.click('#tab-graph');
  await page.click('[data-file="rules.yaml"] .cm-content');
  await page.keyboard.press('Control+A');
  await page.evaluate((rules) => document.execCommand('insertText', false, rules), rules);
  await draws(mermaidTexts((await command('graph', {...files, 'rules.yaml': rules})).stdout), 'markup');
  assert.match(await page.textContent('#panel-graph'), /"<img src=x /);
  await page.click('#tab-render');
});

// draws waits until the graph has these texts.
async function draws(texts, name) {
  const selector = '#panel-graph figcaption, #panel-graph text', want = texts.sort();
  await page.waitForFunction(([selector, want]) => [...document.querySelectorAll(selector)].map((e) => e.textContent).sort().join('\n') === want, [selector, want.join('\n')], {timeout: 20_000}).catch(() => {});
  assert.deepEqual((await page.locator(selector).allTextContents()).sort(), want, name);
}

// mermaidTexts returns the texts in what the command prints.
function mermaidTexts(text) {
  const entities = {'#quot;': '"', '#39;': "'", '#amp;': '&', '#lt;': '<', '#gt;': '>', '#96;': '`', '#92;': '\\'};
  return [...text.matchAll(/"([^"]*)"/g)].flatMap(([, lines]) => lines.split('<br>')).map((line) => line.replace(/#\w+;/g, (e) => entities[e]));
}

// flaws returns what is wrong with the graph. It runs in the page.
function flaws() {
  const found = [];
  const light = (color) => {
    const [r, g, b] = color.match(/[\d.]+/g).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const inside = (a, b) => a.x >= b.x && a.y >= b.y && a.x + a.width <= b.x + b.width && a.y + a.height <= b.y + b.height;
  const apart = (a, b) => a.x >= b.x + b.width || b.x >= a.x + a.width || a.y >= b.y + b.height || b.y >= a.y + a.height;
  for (const picture of document.querySelectorAll('#panel-graph figure svg')) {
    const rects = [...picture.querySelectorAll('rect')], areas = rects.map((r) => r.getBBox());
    rects.forEach((rect, i) => {
      const name = rect.parentNode.textContent;
      if (!inside(areas[i], picture.viewBox.baseVal) || areas.slice(0, i).some((a) => !apart(a, areas[i]))) {
        found.push(`${name} is outside, or overlaps another one`);
      }
      for (const text of rect.parentNode.querySelectorAll('text')) {
        const [a, b] = [text, rect].map((e) => light(getComputedStyle(e).fill));
        if (!inside(text.getBBox(), areas[i]) || Math.max(a, b) / Math.min(a, b) < 4.5) {
          found.push(`${text.textContent} does not fit, or is hard to read`);
        }
      }
    });
    for (const line of picture.querySelectorAll('.line')) {
      for (let at = 1; at < line.getTotalLength() - 1; at += 4) {
        const {x, y} = line.getPointAtLength(at);
        if (rects.some((r, i) => r.parentNode.matches('.box') && inside({x, y, width: 0, height: 0}, areas[i]))) {
          found.push(`a line crosses a box at ${x} ${y}`);
        }
      }
    }
  }
  return found;
}

test('a link brings the texts back, and a text that is too long or broken is refused', async () => {
  await choose(page, 'foo');
  await page.click('#share');
  await page.waitForFunction(() => location.hash.startsWith('#v1.'));
  const fragment = await page.evaluate(() => location.hash);
  const other = await open({}, fragment);
  assert.match(await other.textContent('#objects'), /name: example-foo/);
  assert.equal(await other.inputValue('#example'), '');
  await other.evaluate(() => { location.hash = 'v1.abc'; });
  await other.waitForFunction(() => /The link cannot be read/.test(document.querySelector('#message').textContent));
  await other.click('[data-file="rules.yaml"] .cm-content');
  await other.evaluate(() => document.execCommand('insertText', false, Array.from(crypto.getRandomValues(new Uint32Array(8000))).join(' ')));
  await other.click('#share');
  await other.waitForFunction(() => /too long for a link: \d+ characters, at most 16000/.test(document.querySelector('#message').textContent));
  await other.context().close();
});

test('endless work is stopped, and the page goes on', async () => {
  const other = await open();
  // The worker does not answer once: it is busy for ever, as with an endless program.
  await other.evaluate(() => {
    const send = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message) {
      if (message.request) {
        Worker.prototype.postMessage = send;
        return;
      }
      send.call(this, message);
    };
    document.querySelector('#tab-graph').click();
  });
  await other.waitForFunction(() => /No result after 15 seconds/.test(document.querySelector('#status').textContent), null, {timeout: 30_000});
  await other.click('#tab-render');
  await other.selectOption('#example', 'webapp');
  await other.waitForFunction(() => document.querySelector('#objects').textContent.includes('name: shop'), null, {timeout: 30_000});
  await other.context().close();
});

test('the keyboard reaches everything in order', async () => {
  await choose(page, 'foo');
  await page.evaluate(() => document.activeElement.blur());
  await page.click('h1');
  const order = [];
  for (let i = 0; i < 12; i++) {
    await page.keyboard.press('Tab');
    order.push(await page.evaluate(() => document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.textContent));
  }
  assert.deepEqual(order, ['introduction', 'tutorial', 'rules', 'this page', 'example', 'share', 'Rules', 'tab-resources', 'Resources', 'tab-render', 'objects', order[11]]);
  await page.focus('#tab-render');
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.getAttribute('#tab-play', 'aria-selected'), 'true');
  assert.ok(await page.isVisible('#step'));
  await page.keyboard.press('ArrowLeft');
});

for (const scheme of ['light', 'dark']) {
  for (const width of [1400, 360]) {
    test(`${scheme}, ${width} px: nothing is cut off, and axe finds nothing`, async () => {
      const other = await open({colorScheme: scheme, viewport: {width, height: 800}});
      for (const tab of ['render', 'play', 'graph']) {
        await other.click(`#tab-${tab}`);
        await other.waitForSelector({render: '#objects .tok-propertyName', play: '.objects li', graph: '#panel-graph svg'}[tab]);
        assert.ok(await other.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${tab}: the page scrolls sideways`);
        if (process.env.SHOTS) {
          await other.screenshot({path: `${process.env.SHOTS}/${scheme}-${width}-${tab}.png`, fullPage: width === 360});
        }
        await other.evaluate(await readFile(axe, 'utf8'));
        const {violations} = await other.evaluate(() => axe.run(document));
        assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(', ')}`), [], tab);
      }
      await other.context().close();
    });
  }
}

test('nothing is sent anywhere, and nothing failed', () => {
  assert.deepEqual(sent, []);
  assert.deepEqual(errors, []);
});
