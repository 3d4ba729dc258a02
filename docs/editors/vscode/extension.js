// Starts `reconcel lsp`, and connects VS Code with it.
const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

exports.activate = async function () {
  const settings = vscode.workspace.getConfiguration('reconcel');
  const options = {};
  for (const name of ['crd', 'strict', 'allow-kind', 'namespaced', 'ignore-check']) {
    options[name] = settings.get(name);
  }
  client = new LanguageClient(
    'reconcel',
    'reconcel',
    { command: settings.get('path'), args: ['lsp'] },
    {
      documentSelector: [{ language: 'yaml' }],
      initializationOptions: options,
      // The server reads CRDs and reconcel.yaml again when they change.
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher('**/*.{yaml,yml}') },
    },
  );
  await client.start();
};

exports.deactivate = function () {
  return client ? client.stop() : undefined;
};
