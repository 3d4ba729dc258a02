// docs.js makes HTML of the documentation, so that the page can link to it.
import {mkdir, readFile, readdir, writeFile} from 'node:fs/promises';
import {dirname, join, normalize, relative} from 'node:path';
import {Marked} from 'marked';

// buildDocs writes a page for each Markdown file that readers of the playground want. Links to
// other files of the repository become text.
export async function buildDocs(root, out) {
  const paths = ['README.md', 'examples/README.md', ...(await readdir(root + 'docs', {recursive: true})).filter((path) => path.endsWith('.md')).map((path) => 'docs/' + path)];
  for (const path of paths) {
    const text = await readFile(root + path, 'utf8');
    const to = `${out}/${path.replace(/md$/, 'html')}`;
    await mkdir(dirname(to), {recursive: true});
    await writeFile(to, page(path, text, new Set(paths)));
  }
}

function page(path, text, paths) {
  const up = relative(dirname(path), '.') || '.';
  const title = /^# (.*)$/m.exec(text)[1].replaceAll('`', '');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'">
<title>${escape(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${up}/docs.css">
</head>
<body>
<nav><a href="${up}/index.html">Playground</a> <a href="${up}/README.html">Introduction</a> <a href="${up}/docs/tutorial.html">Tutorial</a> <a href="${up}/docs/rules.html">Rules</a> <a href="${up}/docs/reference/cli.html">Commands</a></nav>
<main>
${markdown(path, paths).parse(text)}</main>
</body>
</html>
`;
}

// markdown returns a converter for a file, with the anchors that GitHub has.
function markdown(path, paths) {
  const anchors = new Set();
  return new Marked({
    renderer: {
      heading({tokens, depth, text}) {
        const slug = text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase().replace(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-');
        let anchor = slug;
        for (let n = 1; anchors.has(anchor); n++) {
          anchor = `${slug}-${n}`;
        }
        anchors.add(anchor);
        return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({href, tokens}) {
        const text = this.parser.parseInline(tokens);
        const [file, anchor] = href.split('#');
        const to = /^[a-z]+:/.test(href) || file === '' ? href : paths.has(normalize(join(dirname(path), file))) && file.replace(/md$/, 'html') + (anchor ? `#${anchor}` : '');
        return to ? `<a href="${escape(to)}">${text}</a>` : text;
      },
      image: ({text}) => escape(text),
      html: ({text}) => (text.startsWith('<!--') ? '' : escape(text)),
    },
  });
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
