// The findings: searched, filtered, sorted, shown some at a time, opened into their evidence.
(async () => {
  const FIRST = 8, NEXT = 25;
  const element = (id) => document.getElementById(id);
  const unpack = async (id) => {
    const text = atob(element(id).textContent);
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  };
  const make = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children.filter((child) => child !== null && child !== ""));
    return made;
  };
  const several = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
  if (!element("index") || typeof DecompressionStream === "undefined") return;
  const index = await unpack("index");
  const pieces = new Map();
  const piece = (number) => {
    if (!pieces.has(number)) pieces.set(number, unpack(`piece-${number}`));
    return pieces.get(number);
  };
  const count = index.area.length;
  const [record, records] = index.record;
  const labels = Object.values(index.evidence);

  // Proofs

  const breakable = (name) => name.split(/(?<=,)/).flatMap((part, at) => (at ? [make("wbr"), part] : [part]));
  const cellOf = (name) => index.cells[name.replace(/^(?:[+−] ?)?(?:\d+·)?/, "")];
  // A long sum reads better as an account: one cell a line, with what is published for it. So does
  // any sum of cells whose names are mere codes.
  const account = (line) => {
    const parts = line.trim().split(/ (?:[=≥≤]) /);
    const [relation] = line.trim().match(/ (?:[=≥≤]) /) ?? [""];
    if (parts.length < 3 || parts.length > 4 || parts[1].startsWith("(")) return null;
    const [names, values] = [parts[1], parts[2]].map((side) => side.split(/ (?=[+−] )/));
    const coded = names.some(cellOf);
    if (names.length !== values.length || (names.length < 5 && !coded)) return null;
    const list = make("ul", { class: coded ? "account coded" : "account" });
    names.forEach((name, at) => {
      const what = make("span", {}, ...breakable(name), cellOf(name) ? make("small", {}, cellOf(name)) : "");
      list.append(make("li", {}, what, make("span", {}, values[at])));
    });
    const head = names.length > 1 ? `${parts[0]}${relation}the sum of` : `${parts[0]}${relation}the cell`;
    return make("div", {}, make("code", {}, head), list, make("code", { class: "total" }, `${parts[0]}${relation}${parts[3] ?? parts[2]}`));
  };
  const sum = (lines) => {
    const box = make("div", { class: "sum", tabindex: "0", role: "group", "aria-label": "Arithmetic" });
    for (const line of lines) {
      const depth = line.length - line.trimStart().length;
      const made = account(line) ?? make("code", {}, line.trim());
      if (depth) made.style.marginLeft = `${depth}ch`;
      box.append(made);
    }
    return box;
  };
  // Drawings: tables/drawn_html.py draws the same for readers without scripts.
  const GAP = -1, SIGNS = { "+": "plus", "−": "minus", "✕": "never" };
  const drawTable = ([number, rows, columns, marked], values) => {
    const [name, label, corner, heads, lines] = index.shapes[number];
    const marks = new Map(marked.map(([cell, sign, times]) => [cell, [sign, times]]));
    const value = (cell) => {
      if (cell === GAP) return make("td");
      if (!marks.has(cell)) return make("td", { class: "cell" }, values[cell]);
      const [sign, times] = marks.get(cell);
      const many = times > 1 ? `${times.toLocaleString("en")} × ` : "";
      return make("td", { class: SIGNS[sign] }, make("b", {}, sign), ` ${many}${values[cell]}`);
    };
    const body = make("tbody");
    let group = "";
    for (const at of rows) {
      if (at === GAP) { body.append(make("tr", {}, make("td", { class: "head" }, "⋮"))); continue; }
      const [mine, head, cells] = lines[at];
      if (mine && mine !== group) {
        body.append(make("tr", {}, make("th", { scope: "rowgroup", colspan: columns.length + 1, class: "head" }, mine)));
      }
      group = mine;
      body.append(make("tr", {}, make("th", { scope: "row", class: "head" }, head), ...columns.map((c) => value(c === GAP ? GAP : cells[c]))));
    }
    const top = make("tr", {}, make("td", { class: "head" }, corner),
      ...columns.map((c) => make("th", { scope: "col", class: "head" }, c === GAP ? "…" : heads[c])));
    const caption = make("figcaption", { class: "caption" }, `Table ${name}`, ...(label ? [" ", make("small", {}, label)] : []));
    return make("figure", { class: "drawn" }, caption,
      make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `Table ${name}` },
        make("table", { class: heads.length > 1 ? "grid" : "grid list" }, make("thead", {}, top), body)));
  };
  const drawStep = ([heading, tables, total, because, given, cases], values) => {
    const line = (kind, text) => (text ? make("p", { class: kind }, text) : null);
    const box = make("div", { class: "step" }, line("heading", heading));
    const added = (table) => table[3].some(([, sign]) => SIGNS[sign] !== "never");
    const show = (some) => {
      if (some.length) box.append(make("div", { class: "tables" }, ...some.map((table) => drawTable(table, values))));
    };
    show(tables.filter(added));
    if (total && !cases.length) box.append(line("total", total));
    if (because) box.append(line("because", because));
    show(tables.filter((table) => !added(table)));
    if (given.length) box.append(make("ul", { class: "given" }, ...given.map((text) => make("li", {}, text))));
    box.append(...cases.map((one) => drawStep(one, values)));
    if (total && cases.length) box.append(line("total", total));
    return box;
  };
  const proofOf = (area, proof, drawing) => {
    if (drawing === null) return sum(area.proofs[proof]);
    const names = make("details", { class: "names" }, make("summary", {}, "The same with the names of the cells"));
    return make("div", { class: "proof" }, ...area.drawn[drawing].map((step) => drawStep(step, area.values)),
      lazily(names, () => sum(area.proofs[proof])));
  };
  const lazily = (details, build) => {
    details.addEventListener("toggle", () => {
      if (details.open && !details.dataset.built) {
        details.dataset.built = "yes";
        details.append(build());
      }
    });
    return details;
  };
  const members = (evidence, proofs, total) => {
    const list = make("ol", { class: "members" });
    for (const [terms, how, proof] of evidence.claims) {
      const name = terms.map((at) => evidence.terms[at]).join(", ");
      const summary = make("summary", {}, make("code", {}, name), make("span", { class: "how" }, labels[how]));
      const item = make("details", {}, summary);
      if (proof !== null) lazily(item, () => sum(proofs[proof]));
      list.append(make("li", {}, item));
    }
    const left = total - evidence.claims.length;
    const box = make("div", {}, list);
    if (left > 0) box.append(make("p", { class: "note" }, `… and ${left.toLocaleString("en")} more, in claims.parquet.`));
    return box;
  };
  const neighbour = ([says, [first, second], attribute, values]) => {
    const box = make("div", { class: "near" }, make("p", {}, says));
    box.append(make("p", { class: "note" },
      `Two datasets agree with every published cell: one has ${several(first, `such ${record}`, `such ${records}`)}, the other ${second.toLocaleString("en")}.`));
    if (!values.length) return box;
    const head = make("tr", {}, make("th", { scope: "col" }, attribute),
      make("th", { scope: "col", class: "figure" }, "one dataset"), make("th", { scope: "col", class: "figure" }, "another"));
    const body = make("tbody");
    for (const [value, a, b] of values) {
      body.append(make("tr", {}, make("td", {}, value), make("td", { class: "figure" }, String(a)), make("td", { class: "figure" }, String(b))));
    }
    box.append(make("table", {}, make("thead", {}, head), body));
    return box;
  };
  const why = async (at) => {
    const box = make("div", { class: "why" });
    const [number, place] = index.where[at];
    if (number < 0) {
      box.append(make("p", { class: "note" }, "The proof is in the run folder; this page does not have room for all proofs. A page of the area has it: showthrough report RUN/ --area NAME"));
      return box;
    }
    const area = (await piece(number))[place >> 16];
    const evidence = area.findings[place & 0xffff];
    const steps = make("ol", { class: "steps" });
    for (const [says, proof, drawing] of evidence.steps) {
      const step = make("li", {}, make("p", {}, says));
      if (proof !== null) step.append(proofOf(area, proof, drawing));
      steps.append(step);
    }
    box.append(make("h3", {}, "Why it holds"), steps);
    if (index.kind[at] < 2 && evidence.steps.length > 1) {
      const same = index.m[at] === 1 ? `Both are about the same ${record}` : `Both are about the same ${several(index.m[at], record, records)}`;
      box.append(make("p", { class: "therefore" }, `${same}: whoever knows the first learns the second.`));
    }
    box.append(make("p", { class: "note key" }, make("b", { class: "plus" }, "+"), " added, ", make("b", { class: "minus" }, "−"), " subtracted, ",
      make("b", { class: "never" }, "✕"), ` published as 0, so that there is no such ${record}. All other numbers are as published.`));
    if (evidence.ways.length) {
      const ways = make("ul", { class: "ways" });
      for (const way of evidence.ways) ways.append(make("li", {}, `${way[0].toUpperCase()}${way.slice(1)}.`));
      box.append(make("h3", {}, "It is also enough to know that"), ways);
    }
    if (evidence.near.length) {
      box.append(make("h3", {}, "What does not follow"));
      for (const one of evidence.near) box.append(neighbour(one));
    }
    if (evidence.claims.length) {
      const summary = make("summary", {}, `The ${several(index.claims[at], "claim", "claims")} it stands for`);
      box.append(lazily(make("details", {}, summary), () => members(evidence, area.proofs, index.claims[at])));
    }
    return box;
  };

  // Cards

  const percent = (chance) => (chance >= 0.0001 ? `${Number((100 * chance).toPrecision(2))}\u00a0%` : "under 0.01\u00a0%");
  const card = (at) => {
    const name = index.names[index.area[at]];
    const tags = make("span", { class: "tags" });
    const least = index.kind[at] === 2 ? "at least " : "";
    tags.append(make("span", {}, least + several(index.m[at], record, records)),
      make("span", {}, several(index.k[at], "column", "columns")),
      make("span", {}, several(index.tables[at], "table", "tables") + (index.tables[at] > 1 ? " combined" : "")));
    for (const [reference, chances] of Object.entries(index.baselines)) {
      if (chances[at] !== null) tags.append(make("span", {}, `by chance (${reference}): ${percent(chances[at])}`));
    }
    const sentence = make("span", { class: "sentence" }, index.before[at],
      index.learnt[at] ? make("em", { class: "learnt" }, index.learnt[at]) : "", index.after[at]);
    const where = name ? make("span", { class: "where" }, make("bdi", {}, name)) : null;
    const details = make("details", {}, make("summary", {}, where, sentence, tags));
    details.addEventListener("toggle", async () => {
      if (details.open && !details.dataset.built) {
        details.dataset.built = "yes";
        details.append(await why(at));
      }
    });
    return make("li", { class: "card" }, details);
  };

  // Searching, filtering, sorting

  const text = index.before.map((before, at) =>
    `${index.names[index.area[at]]} ${before}${index.learnt[at]}${index.after[at]}`.toLowerCase());
  const all = Array.from({ length: count }, (_, at) => at);
  const chance = (reference, at) => index.baselines[reference][at] ?? 2;
  const least = (at) => Math.min(...Object.keys(index.baselines).map((reference) => chance(reference, at)));
  let ranks = null;
  const alphabet = () => {
    if (ranks) return ranks;
    const { compare } = new Intl.Collator("en", { numeric: true });
    ranks = [];
    index.names.map((_, at) => at).sort((a, b) => compare(index.names[a], index.names[b])).forEach((at, rank) => { ranks[at] = rank; });
    return ranks;
  };
  const orders = {
    telling: null,
    k: (a, b) => index.k[b] - index.k[a],
    tables: (a, b) => index.tables[b] - index.tables[a],
    claims: (a, b) => index.claims[b] - index.claims[a],
    baseline: (a, b) => least(a) - least(b),
    area: (a, b) => alphabet()[index.area[a]] - alphabet()[index.area[b]],
  };
  const value = (id) => element(id)?.value ?? "";
  const fits = () => {
    const words = value("search").toLowerCase().split(/\s+/).filter(Boolean);
    const area = value("area").trim().toLowerCase();
    const exact = index.names.findIndex((name) => name.toLowerCase() === area);
    const attribute = value("attribute"), m = value("multiplicity"), k = value("k");
    const by = element("baseline")?.selectedOptions[0]?.dataset ?? {};
    return (at) =>
      words.every((word) => text[at].includes(word)) &&
      (!area || (exact >= 0 ? index.area[at] === exact : index.names[index.area[at]].toLowerCase().includes(area))) &&
      (attribute === "" || index.learns[at].includes(Number(attribute))) &&
      (m === "" || (m === "least" ? index.kind[at] === 2 : index.kind[at] < 2 && (m === "more" ? index.m[at] > 3 : index.m[at] === Number(m)))) &&
      (k === "" || index.k[at] === Number(k)) &&
      (!by.reference || chance(by.reference, at) <= Number(by.limit));
  };
  let shown = all, drawn = 0;
  const list = element("list"), more = element("more"), status = element("count");
  const draw = () => {
    const next = shown.slice(drawn, drawn + (drawn ? NEXT : FIRST)).map(card);
    drawn += next.length;
    list.append(...next);
    more.hidden = drawn >= shown.length;
    return next;
  };
  const refresh = () => {
    shown = all.filter(fits());
    const order = orders[value("order")];
    if (order) shown.sort((a, b) => order(a, b) || a - b);
    list.replaceChildren();
    drawn = 0;
    draw();
    list.dataset.round = String(Number(list.dataset.round ?? 0) + 1);
    status.textContent = shown.length === count ? several(count, "finding", "findings")
      : `${shown.length.toLocaleString("en")} of ${several(count, "finding", "findings")}`;
  };
  more.addEventListener("click", () => draw()[0]?.querySelector("summary").focus());

  const options = (id, pairs) => element(id).append(...pairs.map(([key, name]) => make("option", { value: key }, name)));
  const distinct = (values) => [...new Set(values)].sort((a, b) => a - b);
  const learnt = new Set(index.learns.flat());
  options("attribute", index.attributes.map((name, at) => [at, name]).filter(([at]) => learnt.has(at)));
  options("k", distinct(index.k).reverse().map((k) => [k, several(k, "column", "columns")]));
  const exactly = index.m.filter((_, at) => index.kind[at] < 2);
  options("multiplicity", [
    ...distinct(exactly.filter((m) => m <= 3)).map((m) => [m, `exactly ${several(m, record, records)}`]),
    ...(exactly.some((m) => m > 3) ? [["more", `more than 3 ${records}`]] : []),
    ...(index.kind.includes(2) ? [["least", "an unknown number"]] : []),
  ]);
  const tools = element("tools");
  let waiting = 0;
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(refresh, 120); };
  tools.addEventListener("input", soon);
  tools.addEventListener("reset", () => setTimeout(refresh));
  tools.addEventListener("submit", (event) => { event.preventDefault(); refresh(); });
  element("area")?.addEventListener("focus", () => {
    const names = element("area-names");
    if (!names.children.length) names.append(...index.names.slice(0, 2000).map((name) => make("option", { value: name })));
  }, { once: true });
  tools.hidden = false;
  refresh();

  // Areas

  const body = element("area-table")?.tBodies[0];
  if (!body) return;
  const moreAreas = element("more-areas");
  const known = new Set(index.names);
  let rows = 0;
  const pick = (name) => {
    tools.reset();
    element("area").value = name;
    setTimeout(() => {
      refresh();
      element("findings").scrollIntoView();
      status.textContent += ` – ${name}`;
      element("area").focus({ preventScroll: true });
    });
  };
  const areaRow = ([name, size, findings, singles, unique, state]) => {
    const first = known.has(name) ? make("button", { type: "button" }, make("bdi", {}, name || "all")) : make("bdi", {}, name || "all");
    if (known.has(name)) first.addEventListener("click", () => pick(name));
    const whole = state === "decided" || state === "partly decided" ? (unique ? "yes" : unique === null ? "not decided" : "no") : "not audited";
    const figure = (number) => make("td", { class: "figure" }, number === null ? "–" : number.toLocaleString("en"));
    return make("tr", {}, make("td", {}, first), figure(size), figure(findings), figure(singles), make("td", {}, whole));
  };
  const drawAreas = (some) => {
    const next = index.areas.slice(rows, rows + some).map(areaRow);
    rows += next.length;
    body.append(...next);
    moreAreas.hidden = rows >= index.areas.length;
    return next;
  };
  moreAreas.addEventListener("click", () => drawAreas(100)[0]?.querySelector("button")?.focus());
  drawAreas(10);
})();
