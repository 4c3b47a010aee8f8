// A table with filter, sorting and row selection, by mouse or keyboard. All text is set as text, never as HTML.
const MAX_ROWS = 200;
const MAX_OPEN = 40; // rows of a table whose groups are all unfolded at first
const MIN_PROSE = 30; // characters from which a text may be broken into lines

const make = (tag, name, text = "") => {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.textContent = text;
  return element;
};
const shown = (value) => (value === null ? "" : typeof value === "number" ? String(+value.toPrecision(4)) : String(value));
const minus = (text) => text.replace(/(^|[\s(e])-(?=\d)/g, "$1−");
const isNumbers = (text) => /^[-+−\d.,%±×()\s]*\d([-+−\d.,%±×()\s]|to)*$/.test(text); // such as an interval
const decimals = (value) => (shown(value).split("e")[0].split(".")[1] ?? "").length;

// How many decimals the numbers of a column have: as many as they need, if that is not more than three digits of the
// largest, and two.
const decimalsOf = (values) => {
  const numbers = values.filter((value) => typeof value === "number" && value !== 0);
  const largest = Math.max(...numbers.map(Math.abs));
  return Math.min(Math.max(0, ...numbers.map(decimals)), Math.max(2, 2 - Math.floor(Math.log10(largest))));
};
const aligned = (value, places) => {
  if (typeof value !== "number") return isNumbers(shown(value)) ? minus(value) : shown(value);
  const text = value.toFixed(places);
  return minus(value !== 0 && Number(text) === 0 ? shown(value) : text.replace(/^-(?=[0.]*$)/, ""));
};
const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : shown(a).localeCompare(shown(b)));

function render({ model, el }) {
  const box = make("div", "nmtlab-table");
  const head = make("div", "nmtlab-table-head");
  const title = make("span", "nmtlab-table-title");
  const search = make("input");
  search.type = "search";
  const count = make("span", "nmtlab-table-count");
  const files = make("span", "nmtlab-table-files");
  for (const [form, name] of [["csv", "CSV"], ["tex", "LaTeX"]]) {
    const button = make("button", "", name);
    button.title = `Download the rows as ${name}`;
    button.onclick = () => model.send({ form, rows: matching().found.map((row) => row.place) });
    files.append(button);
  }
  const glossary = make("a", "nmtlab-table-glossary", "?");
  glossary.href = document.querySelector("a[href$='glossary.html']")?.href ?? "";
  glossary.target = "_blank";
  glossary.title = "What the names mean: the glossary, in another tab";
  glossary.setAttribute("aria-label", "Glossary");
  head.append(title, search, count, files, glossary);
  const chosen = make("div", "nmtlab-table-chosen");
  const why = make("p", "nmtlab-table-why");
  const scroll = make("div", "nmtlab-table-scroll");
  const table = make("table");
  if (model.get("pickable")) table.setAttribute("role", "grid");
  if (model.get("multiple")) table.setAttribute("aria-multiselectable", "true");
  scroll.append(table);
  box.append(head, why, chosen, scroll);
  el.append(box);
  let sorted = null; // {column, down}
  let shownContent; // in the last drawing
  let unfolded = false; // by the user, a table that shows its first rows only
  const folded = new Map(); // by group, where the user has folded or unfolded it

  const matching = () => {
    const { columns, rows } = JSON.parse(model.get("content"));
    rows.forEach((row, place) => (row.place = place));
    const words = search.value.replaceAll("−", "-").toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (row) => {
      const text = [row.group ?? "", ...row.cells.map(shown)].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const found = rows.filter(matches);
    if (sorted) found.sort((a, b) => compare(a.cells[sorted.column], b.cells[sorted.column]) * (sorted.down ? -1 : 1));
    return { columns, found, all: rows.length };
  };

  const explained = (text, name) => {
    const meaning = model.get("meanings")[name];
    return meaning ? `${text}: ${meaning}` : text;
  };

  const choose = (keys) => {
    model.set("chosen", keys);
    model.save_changes();
  };

  const pick = (key) => {
    if (!model.get("pickable")) return;
    if (!model.get("multiple")) return choose([key]);
    const before = model.get("chosen");
    choose(before.includes(key) ? before.filter((other) => other !== key) : [...before, key]);
  };

  const header = (columns, rows) => {
    const row = make("tr");
    if (model.get("multiple")) row.append(make("th"));
    columns.forEach((name, column) => {
      const isNumber = rows.some((row) => typeof row.cells[column] === "number");
      const cell = make("th", isNumber ? "nmtlab-number" : "");
      cell.scope = "col";
      if (sorted?.column === column) cell.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      const button = make("button", "", name + (sorted?.column === column ? (sorted.down ? " ▾" : " ▴") : ""));
      button.title = explained(`sort by ${name}`, name);
      button.onclick = () => {
        sorted = { column, down: sorted?.column === column && !sorted.down };
        draw();
        table.querySelectorAll("th button")[column].focus();
      };
      cell.append(button);
      row.append(cell);
    });
    const part = make("thead");
    part.append(row);
    return part;
  };

  const mark = (cell, value) => {
    const word = model.get("marked").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    if (!word || typeof value !== "string") return;
    const parts = value.split(new RegExp(`(?<![\\p{L}\\p{N}])(${word})(?![\\p{L}\\p{N}])`, "u"));
    if (parts.length > 1) cell.replaceChildren(...parts.map((part, place) => (place % 2 ? make("mark", "", part) : part)));
  };

  const line = (row, places) => {
    const line = make("tr");
    line.dataset.key = row.key;
    if (model.get("multiple")) line.append(make("td"));
    row.cells.forEach((value, column) => {
      const kind = typeof value === "number" ? "nmtlab-number" : shown(value).length < MIN_PROSE ? "" : "nmtlab-prose";
      const cell = make("td", kind, aligned(value, places[column]));
      cell.dir = "auto";
      cell.title = explained(shown(value).slice(0, 1000), value);
      mark(cell, value);
      line.append(cell);
    });
    line.onclick = () => pick(row.key);
    return line;
  };

  const isFolded = (group, rows, all) => {
    if (search.value) return false;
    return folded.get(group) ?? (all > MAX_OPEN && !rows.some((row) => model.get("chosen").includes(row.key)));
  };

  const heading = (group, rows, hidden) => {
    const button = make("button", "", `${hidden ? "▸" : "▾"} ${group} (${rows.length})`);
    button.setAttribute("aria-expanded", !hidden);
    button.onclick = () => {
      folded.set(group, !hidden);
      draw();
      [...table.querySelectorAll("[data-group]")].find((one) => one.dataset.group === group).focus();
    };
    button.dataset.group = group;
    return spanning(button);
  };

  // The first rows and the chosen ones; the others of a short list behind a button.
  const first = (rows, places) => {
    const chosen = new Set(model.get("chosen"));
    const few = !unfolded && !search.value && model.get("first");
    const most = few && rows.length > few + 1 ? few : MAX_ROWS;
    const kept = rows.filter((row, place) => place < most || chosen.has(row.key));
    const lines = kept.map((row) => line(row, places));
    return most === few && kept.length < rows.length ? [...lines, rest(rows.length - kept.length)] : lines;
  };

  const rest = (more) => {
    const button = make("button", "", `▸ ${more} more`);
    button.setAttribute("aria-expanded", "false");
    button.onclick = () => {
      unfolded = true;
      draw();
      (table.querySelector("tbody tr[tabindex]") ?? search).focus();
    };
    return spanning(button);
  };

  const spanning = (button) => {
    const cell = make("th");
    cell.colSpan = JSON.parse(model.get("content")).columns.length + Number(model.get("multiple"));
    cell.append(button);
    const row = make("tr", "nmtlab-table-group");
    row.append(cell);
    return row;
  };

  const body = (columns, found, all) => {
    const part = make("tbody");
    const places = columns.map((name, column) => decimalsOf(found.map((row) => row.cells[column])));
    if (sorted || found[0]?.group === undefined) {
      part.append(...first(found, places));
      return part;
    }
    const groups = new Map();
    found.forEach((row) => groups.set(row.group, [...(groups.get(row.group) ?? []), row]));
    for (const [group, rows] of groups) {
      const hidden = isFolded(group, rows, all);
      part.append(heading(group, rows, hidden));
      if (!hidden) part.append(...first(rows, places));
    }
    return part;
  };

  const showNames = () => {
    const keys = model.get("multiple") ? model.get("chosen") : [];
    const names = keys.map((key) => {
      const button = make("button", "", `${model.get("labels")[key] ?? key} ×`);
      button.title = `${key}: click to remove`;
      button.onclick = () => pick(key);
      return button;
    });
    const clear = make("button", "nmtlab-table-clear", "clear");
    clear.onclick = () => choose([]);
    chosen.hidden = !model.get("multiple");
    const focused = chosen.contains(document.activeElement);
    chosen.replaceChildren(make("span", "", `${keys.length} chosen`), ...names, ...(keys.length ? [clear] : []));
    if (focused) (chosen.querySelector("button") ?? table.querySelector('[tabindex="0"]'))?.focus();
  };

  const markChosen = () => {
    if (!model.get("pickable")) return;
    const keys = new Set(model.get("chosen"));
    const lines = [...table.querySelectorAll("tr[data-key]")];
    const first = lines.find((line) => keys.has(line.dataset.key)) ?? lines[0];
    for (const line of lines) {
      const picked = keys.has(line.dataset.key);
      line.tabIndex = picked || line === first ? 0 : -1;
      line.setAttribute("aria-selected", picked);
      if (model.get("multiple")) line.cells[0].textContent = picked ? "☑" : "☐";
    }
  };

  const showChosen = () =>
    requestAnimationFrame(() => {
      const line = table.querySelector('tr[aria-selected="true"]');
      if (!line) return;
      const top = line.offsetTop - table.tHead.offsetHeight, bottom = line.offsetTop + line.offsetHeight;
      const seen = top >= scroll.scrollTop && bottom <= scroll.scrollTop + scroll.clientHeight;
      if (!seen) scroll.scrollTop = Math.max(0, line.offsetTop - scroll.clientHeight / 2);
    });

  const draw = () => {
    const { columns, found, all } = matching();
    title.textContent = model.get("title");
    table.setAttribute("aria-label", model.get("title"));
    search.placeholder = "filter";
    search.setAttribute("aria-label", `filter ${model.get("title")}`);
    search.hidden = all < 6 && !search.value;
    files.hidden = !all;
    glossary.hidden = !glossary.href || !Object.keys(model.get("meanings")).length;
    scroll.style.maxHeight = model.get("height");
    const cut = found.length > MAX_ROWS && (sorted || found[0].group === undefined);
    const shortened = cut ? `first ${MAX_ROWS} of ` : "";
    why.textContent = model.get("why");
    why.hidden = all > 0;
    scroll.hidden = count.hidden = !all;
    count.textContent = found.length === all ? `${shortened}${all}` : `${shortened}${found.length} matching, ${all} in total`;
    table.replaceChildren(header(columns, found), body(columns, found, all));
    markChosen();
    showNames();
    if (shownContent !== model.get("content")) showChosen();
    shownContent = model.get("content");
    box.dataset.drawn = Number(box.dataset.drawn ?? 0) + 1;
  };

  const save = ({ file, content }) => {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([content], { type: "text/plain" }));
    link.download = file;
    link.click();
    URL.revokeObjectURL(link.href);
  };

  table.onkeydown = (event) => {
    const line = event.target.closest("tr[data-key]");
    if (!line) return;
    const lines = [...table.querySelectorAll("tr[data-key]")];
    const next = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (next) lines[lines.indexOf(line) + next]?.focus();
    else if (event.key === "Enter" || event.key === " ") pick(line.dataset.key);
    else return;
    event.preventDefault();
  };
  search.oninput = () => {
    draw();
    showChosen();
  };
  draw();
  model.on("change:content change:title change:why", draw);
  model.on("change:marked", () => {
    const focused = table.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    draw();
    [...table.querySelectorAll("tr[data-key]")].find((line) => line.dataset.key === focused)?.focus();
  });
  model.on("msg:custom", save);
  model.on("change:labels", showNames);
  model.on("change:chosen", () => {
    const drawn = new Set([...table.querySelectorAll("tr[data-key]")].map((line) => line.dataset.key));
    if (!model.get("chosen").every((key) => drawn.has(key))) draw(); // to unfold the groups of the others
    markChosen();
    showNames();
    showChosen();
  });
}

export default { render };
