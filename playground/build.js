// build.js FOLDER PROGRAM NAME|RESOURCES|OBSERVED... builds the page into a folder, with the
// WebAssembly program and examples.
import {build} from 'esbuild';
import {copyFile, mkdir, readFile, readdir, rm, writeFile} from 'node:fs/promises';
import {createHash} from 'node:crypto';
import {execFileSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {gzipSync} from 'node:zlib';
import {buildDocs} from './docs.js';

const [out, wasm, ...named] = process.argv.slice(2);
const here = new URL('.', import.meta.url).pathname;
const root = here + '../';
const read = (path) => readFile(root + path, 'utf8');

await rm(out, {recursive: true, force: true}); // Programs of earlier builds have other names.
await mkdir(out, {recursive: true});
const code = await readFile(wasm);
const program = `reconcel.${createHash('sha256').update(code).digest('hex').slice(0, 16)}.wasm`;
await compressed(program, code);
// The worker of the layout of graphs. The page loads it with its first graph.
await compressed('elk-worker.min.js', await readFile(`${here}node_modules/elkjs/lib/elk-worker.min.js`));

const {metafile} = await build({metafile: true, define: {PROGRAM: JSON.stringify(program)}, entryPoints: [here + 'page/main.js'], outdir: out, bundle: true, minify: true, format: 'esm', target: 'es2022', legalComments: 'none', logLevel: 'warning'});
const packages = new Set(Object.keys(metafile.inputs).flatMap((path) => /.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []));
const licenses = await Promise.all([...packages].sort().map(async (path) => `${path.replace(/.*node_modules\//, '')}\n\n${await readFile(['LICENSE', 'LICENSE.md'].map((file) => `${path}/${file}`).find(existsSync), 'utf8')}`));
await writeFile(`${out}/licenses.txt`, licenses.join('\n\n'));
await writeFile(`${out}/index.html`, (await readFile(`${here}page/index.html`, 'utf8')).replace('PROGRAM', program));
for (const file of ['style.css', 'docs.css', 'worker.js']) {
  await copyFile(`${here}page/${file}`, `${out}/${file}`);
}
await buildDocs(root, out);
const goroot = execFileSync('go', ['env', 'GOROOT'], {encoding: 'utf8'}).trim();
const glue = ['lib', 'misc'].map((folder) => `${goroot}/${folder}/wasm/wasm_exec.js`).find(existsSync);
if (!glue) {
  throw new Error(`${goroot}: there is no wasm_exec.js: install all of Go`);
}
await copyFile(glue, `${out}/wasm_exec.js`);

const crds = await Promise.all((await readdir(root + 'crds')).sort().map((file) => read('crds/' + file)));
const shows = Object.fromEntries([...(await read('examples/README.md')).matchAll(/^\| \[([^\]]+)\]\([^)]*\) \| (.*) \|$/gm)].map(([, name, text]) => [name, text.replaceAll('`', '')]));
await writeFile(`${out}/examples.json`, JSON.stringify(await Promise.all(named.map(example))));

// compressed writes a large file, and the same file compressed.
async function compressed(file, content) {
  await writeFile(`${out}/${file}`, content);
  await writeFile(`${out}/${file}.gz`, gzipSync(content, {level: 9}));
}

// example returns the files of an example, each as one text.
async function example(argument) {
  const [name, resources, observed] = argument.split('|');
  const texts = async (files) => join(await Promise.all(files.trim().split(/\s+/).filter(Boolean).map((file) => read(`examples/${name}/${file}`))));
  const files = {'rules.yaml': await texts('rules.yaml'), 'resources.yaml': await texts(resources), 'observed.yaml': await texts(observed)};
  const used = Object.values(files).join('\n');
  files['crds.yaml'] = join(crds.filter((crd) => defines(crd, used)));
  return {name, shows: shows[name], files};
}

// defines reports whether a text uses the kind of a CRD.
function defines(crd, text) {
  const group = /^  group: (\S+)$/m.exec(crd), kind = /^    kind: (\S+)$/m.exec(crd);
  if (!group || !kind) {
    throw new Error('a CRD in crds/ without spec.group or spec.names.kind');
  }
  return text.includes(group[1] + '/') && new RegExp(`\\bkind: ${kind[1]}\\b`).test(text);
}

// join makes one YAML text of several.
function join(all) {
  return all.map((text) => text.replace(/^---\n/, '')).join('---\n');
}
