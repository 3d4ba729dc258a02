import {yamlLanguage} from '@codemirror/lang-yaml';
import {classHighlighter, highlightCode} from '@lezer/highlight';

// yaml returns a text with its syntax highlighted. The text itself stays the same.
export function yaml(text) {
  const out = document.createDocumentFragment();
  const put = (piece, classes) => {
    if (!classes) {
      out.append(piece);
      return;
    }
    const span = document.createElement('span');
    span.className = classes;
    span.textContent = piece;
    out.append(span);
  };
  highlightCode(text, yamlLanguage.parser.parse(text), classHighlighter, put, () => put('\n', ''));
  return out;
}
