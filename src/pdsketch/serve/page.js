"use strict";
// The page asks the server and shows the answers; it decides nothing itself.

const token = document.body.dataset.token;
const $ = (id) => document.getElementById(id);
const page = { step: 0, length: 0, nodes: [], number: -1, follow: true, node: -1 };

async function ask(path, body) {
  const options = { headers: { "X-Token": token } };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(path, options);
  const found = await answer.json();
  if (!answer.ok && !found.diagnostics) throw new Error(found.error || answer.statusText);
  return found;
}

function element(tag, text, kind) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function told(diagnostics) {
  return diagnostics.map((d) => {
    const where = d.file.startsWith("<") && d.file !== "<goal>" ? "" : `line ${d.line}, column ${d.column}: `;
    return `${where}${d.message}${d.help ? `\nhelp: ${d.help}` : ""}`;
  }).join("\n");
}

function truthCell(truth) {
  const word = truth === 1 ? "true" : truth === 0 ? "false" : truth.toFixed(3);
  return element("td", word, `truth ${truth > 0.5 ? "yes" : "no"}`);
}

async function showTruths() {
  const goal = $("goal").value;
  const found = await ask("/api/truth", { goal, step: page.step });
  if (goal !== $("goal").value) return; // the reader has typed on
  $("wrong").hidden = !found.diagnostics;
  const body = $("truths").tBodies[0];
  body.replaceChildren();
  if (found.diagnostics) {
    $("wrong").textContent = told(found.diagnostics);
    return;
  }
  const rows = [[null, "the whole goal", found.truth]];
  for (const part of found.conjuncts) {
    rows.push(["", part.text, part.truth]);
    for (const one of part.instances) rows.push(["inner", one.objects, one.truth]);
  }
  for (const [kind, text, truth] of rows) {
    const row = element("tr", undefined, kind || "");
    row.append(element("td", text, kind === null ? "" : "atom"), truthCell(truth));
    body.append(row);
  }
}

function factTable(facts, changed) {
  const tables = new Map();
  for (const [fact, value] of facts) {
    const name = fact.slice(1, -1).split(" ")[0];
    if (!tables.has(name)) tables.set(name, []);
    tables.get(name).push([fact, value]);
  }
  const box = element("div");
  for (const [name, rows] of tables) {
    const part = element("details");
    part.open = rows.length <= 40;
    part.append(element("summary", `${name} (${rows.length})`));
    const table = element("table");
    for (const [fact, value] of rows) {
      const row = element("tr", undefined, changed.has(fact) ? "changed" : "");
      row.append(element("td", fact, "atom"));
      row.append(element("td", value === true ? "" : JSON.stringify(value), "atom"));
      table.append(row);
    }
    part.append(table);
    box.append(part);
  }
  return box;
}

async function showState() {
  const found = await ask(`/api/state?step=${page.step}`);
  page.step = found.step;
  page.length = found.steps.length;
  const items = [element("li", "the beginning")];
  for (const step of found.steps) items.push(element("li", step));
  items.forEach((item, at) => {
    item.className = at === page.step ? "now" : "";
    item.onclick = () => go(at);
  });
  $("steps").replaceChildren(...items);
  const after = found.applicable === null ? "" : `; the next step's precondition: ${found.applicable.toFixed(2)}`;
  $("where").textContent = `after ${page.step} of ${page.length} steps${after}`;
  const changed = new Set(found.changed);
  const box = $("state");
  box.replaceChildren(factTable(found.facts, changed));
  const gone = found.changed.filter((fact) => !found.facts.some(([other]) => other === fact));
  if (gone.length) box.append(element("p", `no longer: ${gone.join(" ")}`, "mono"));
  if (found.observed) {
    const part = element("details");
    part.append(element("summary", "as observed in the world"), factTable(found.observed, new Set()));
    box.append(part);
  }
  const differs = found.deviations.length ? `observed otherwise: ${found.deviations.join(", ")}` : "";
  const success = found.success === null ? "" : `the world says: ${found.success ? "success" : "no success"}. `;
  $("deviations").textContent = success + differs;
  $("picture").hidden = !found.picture;
  if (found.picture) $("picture").src = `/api/picture?step=${page.step}&n=${page.number}&token=${token}`;
  await showTruths();
}

async function go(step) {
  page.step = Math.max(0, Math.min(step, page.length));
  await showState();
}

function showTree() {
  const upto = Number($("upto").value);
  const children = new Map();
  page.nodes.slice(0, upto).forEach((node, number) => {
    if (!children.has(node[0])) children.set(node[0], []);
    children.get(node[0]).push(number);
  });
  const box = document.createDocumentFragment();
  const agenda = (children.get(-1) || []).map((number) => [number, 0]).reverse();
  while (agenda.length) {
    const [number, depth] = agenda.pop();
    const [, step, g, h, f, fate] = page.nodes[number];
    const line = element("div", "  ".repeat(depth));
    line.append(element("span", step || "the beginning", fate));
    const unknown = fate === "dead-end" ? "∞" : "–";
    const show = (value) => (value === null ? unknown : Number(value.toFixed(3)));
    line.dataset.number = number;
    line.className = number === page.node ? "now" : "";
    line.onclick = () => showNode(number);
    line.append(element("span", `  #${number} g ${show(g)} h ${show(h)} f ${show(f)}`, "numbers"));
    box.append(line);
    for (const child of (children.get(number) || []).slice().reverse()) agenda.push([child, depth + 1]);
  }
  $("tree").replaceChildren(box);
}

async function showNode(number) {
  page.node = number;
  showTree();
  const found = await ask(`/api/node?number=${number}`);
  if (page.node !== number) return; // the reader has gone on
  const box = $("node");
  box.hidden = false;
  if (found.diagnostics) {
    box.replaceChildren(element("pre", told(found.diagnostics)));
    return;
  }
  const goal = element("p", `node ${number}, ${found.fate}, after ${found.path.length} steps; the goal: `);
  goal.append(element("b", found.truth === 1 ? "true" : found.truth === 0 ? "false" : found.truth.toFixed(3)));
  box.replaceChildren(goal, ...found.reasons.map((reason) => element("p", reason, "no")));
  if (found.left_out.length) {
    const list = element("ul", undefined, "mono");
    for (const [step, same] of found.left_out) {
      list.append(element("li", same === null ? `${step}: not looked at yet` : `${step}: the state of #${same}`));
    }
    const part = element("details");
    part.append(element("summary", `applicable, and not in the tree (${found.left_out.length})`), list);
    part.open = true;
    box.append(part);
  }
  box.append(factTable(found.facts, new Set(found.changed)));
}

async function watch() {
  const found = await ask("/api/search?from=0");
  if (found.number !== page.number) {
    page.number = found.number;
    page.follow = true;
    page.node = -1;
    $("node").hidden = true;
  }
  page.nodes = found.nodes;
  $("upto").max = Math.max(1, found.count);
  if (page.follow) $("upto").value = found.count;
  const cap = found.capped ? " (the first ones; there may be more)" : "";
  $("counted").textContent = `${$("upto").value} of ${found.count} nodes${cap}${found.running ? ", searching …" : ""}`;
  showTree();
  if (found.diagnostics.length) $("outcome").textContent = told(found.diagnostics);
  if (found.result) {
    const r = found.result;
    const cost = r.cost === null ? "" : `, cost ${r.cost}`;
    const repeats = r.generated - found.count;
    const lines = [
      `${r.status}${cost}: ${r.expanded} expanded, ${r.evaluated} evaluated, ${r.generated} generated, ${r.seconds.toFixed(3)} s`,
      ...(repeats > 0 && !found.capped ? [`${repeats} successors have no node: states met before, or not looked at`] : []),
      ...(r.refinements ? [`the model and its abstraction differed ${r.refinements} times`] : []),
      ...r.reasons, ...r.warnings,
    ];
    $("outcome").textContent = lines.join("\n");
  }
  $("plan").disabled = found.running;
  if (found.running) setTimeout(watch, 200);
  else if (found.result) await go(0);
}

async function plan(event) {
  event.preventDefault();
  const asked = {
    goal: $("goal").value,
    search: $("search-name").value,
    heuristic: $("heuristic").value,
    time_limit: Number($("seconds").value) || 30,
  };
  const found = await ask("/api/plan", asked);
  if (found.diagnostics) {
    $("outcome").textContent = told(found.diagnostics);
    return;
  }
  $("outcome").textContent = "";
  await watch();
}

function drawGraph() {
  $("graph").src = `/api/graph?of=${encodeURIComponent($("graph-of").value)}&token=${token}`;
}

async function begin() {
  const sketch = await ask("/api/sketch");
  document.title = `${sketch.name} – pdsketch`;
  $("name").textContent = sketch.name;
  const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  $("summary").textContent = [
    count(Object.keys(sketch.objects).length, "object"), count(Object.keys(sketch.predicates).length, "predicate"),
    count(sketch.actions.length, "action"), count(sketch.blanks.length, "blank"),
  ].join(", ");
  $("goal").value = sketch.goal;
  $("source").textContent = sketch.source;
  $("report").textContent = sketch.report;
  $("report-part").hidden = !sketch.report;
  for (const wrong of sketch.worst) {
    const row = element("tr");
    const names = ["episode", "step", "action", "variable", "before", "predicted", "seen"];
    row.append(...names.map((name) => element("td", String(wrong[name]), "atom")));
    $("worst").tBodies[0].append(row);
  }
  const first = element("option", "default");
  first.value = "";
  $("search-name").append(first, ...sketch.searches.map((name) => element("option", name)));
  $("graph-of").append(...[...sketch.actions, ...Object.keys(sketch.predicates)].map((name) => element("option", name)));
  $("goal").oninput = showTruths;
  $("graph-of").onchange = drawGraph;
  $("ask").onsubmit = plan;
  $("back").onclick = () => go(page.step - 1);
  $("forth").onclick = () => go(page.step + 1);
  $("upto").oninput = () => {
    page.follow = false;
    $("counted").textContent = `${$("upto").value} of ${page.nodes.length} nodes`;
    showTree();
  };
  drawGraph();
  await showState();
}

begin();
