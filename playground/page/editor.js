import {defaultKeymap, history, historyKeymap} from '@codemirror/commands';
import {yaml} from '@codemirror/lang-yaml';
import {bracketMatching, indentOnInput, indentUnit, syntaxHighlighting} from '@codemirror/language';
import {lintKeymap, setDiagnostics} from '@codemirror/lint';
import {highlightSelectionMatches, searchKeymap} from '@codemirror/search';
import {EditorState} from '@codemirror/state';
import {EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers} from '@codemirror/view';
import {classHighlighter} from '@lezer/highlight';

// createEditor returns an editor for a YAML file. Tab moves the focus, as on every page.
export function createEditor(parent, label, changed) {
  const extensions = [
    lineNumbers(), history(), drawSelection(), indentOnInput(), indentUnit.of('  '), bracketMatching(), highlightActiveLine(), highlightSelectionMatches(),
    yaml(), syntaxHighlighting(classHighlighter),
    keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...lintKeymap]),
    EditorView.contentAttributes.of({'aria-label': label, tabindex: '0', autocapitalize: 'off', spellcheck: 'false'}),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) {
        changed();
      }
    }),
  ];
  const state = (doc) => EditorState.create({doc, extensions});
  const view = new EditorView({state: state(''), parent});
  return {
    text: () => view.state.doc.toString(),
    set: (text) => view.setState(state(text)),
    complain(found) {
      const diagnostics = found.map((f) => ({...extent(view.state.doc, f.position), severity: f.severity === 'note' ? 'info' : f.severity, message: f.message + (f.hint ? `\n${f.hint}` : '')}));
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    goTo(position) {
      const {from} = extent(view.state.doc, position);
      view.dispatch({selection: {anchor: from}, effects: EditorView.scrollIntoView(from, {y: 'center'})});
      view.focus();
    },
  };
}

// extent returns where to underline: the word at a position, whose column counts characters.
// A position without a line is about the whole file.
function extent(doc, {line, column}) {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const before = [...at.text].slice(0, Math.max(column - 1, 0)).join('').length;
  const word = /^[\p{L}\p{N}_.-]+/u.exec(at.text.slice(before))?.[0].length ?? 1;
  return {from: at.from + before, to: Math.min(at.from + before + word, at.to)};
}
