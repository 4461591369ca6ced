// Starts `pdsketch lsp` and connects the editor to it.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const [command, ...args] = workspace.getConfiguration("pdsketch").get("command");
  client = new LanguageClient(
    "pdsketch",
    "PDSketch",
    { command, args },
    { documentSelector: [{ language: "pdsketch" }] },
  );
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
