// A table with filter, sorting and row selection, by mouse or keyboard. All text is set as text, never as HTML.
const MAX_ROWS = 200;

const make = (tag, name, text = "") => {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.textContent = text;
  return element;
};
const shown = (value) => (value === null ? "" : typeof value === "number" ? String(+value.toPrecision(4)) : String(value));
const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : shown(a).localeCompare(shown(b)));

function render({ model, el }) {
  const box = make("div", "nmtlab-table");
  const head = make("div", "nmtlab-table-head");
  const title = make("span", "nmtlab-table-title");
  const search = make("input");
  search.type = "search";
  const count = make("span", "nmtlab-table-count");
  head.append(title, search, count);
  const scroll = make("div", "nmtlab-table-scroll");
  const table = make("table");
  if (model.get("pickable")) table.setAttribute("role", "grid");
  if (model.get("multiple")) table.setAttribute("aria-multiselectable", "true");
  scroll.append(table);
  box.append(head, scroll);
  el.append(box);
  let sorted = null; // {column, down}

  const matching = () => {
    const { columns, rows } = JSON.parse(model.get("content"));
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (row) => {
      const text = row.cells.map(shown).join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const found = rows.filter(matches);
    if (sorted) found.sort((a, b) => compare(a.cells[sorted.column], b.cells[sorted.column]) * (sorted.down ? -1 : 1));
    return { columns, found, all: rows.length };
  };

  const pick = (key, more) => {
    if (!model.get("pickable")) return;
    let keys = [key];
    if (model.get("multiple")) {
      const before = model.get("chosen");
      keys = before.includes(key) ? before.filter((other) => other !== key) : [...before, key];
      if (!keys.length) return; // a page needs at least one selected row
    }
    model.set("chosen", keys);
    model.save_changes();
  };

  const header = (columns, rows) => {
    const row = make("tr");
    if (model.get("multiple")) row.append(make("th"));
    columns.forEach((name, column) => {
      const cell = make("th", typeof rows[0]?.cells[column] === "number" ? "nmtlab-number" : "");
      cell.scope = "col";
      if (sorted?.column === column) cell.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      const button = make("button", "", name + (sorted?.column === column ? (sorted.down ? " ▾" : " ▴") : ""));
      button.title = `sort by ${name}`;
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

  const body = (found) => {
    const part = make("tbody");
    found.slice(0, MAX_ROWS).forEach((row) => {
      const line = make("tr");
      line.dataset.key = row.key;
      if (model.get("multiple")) line.append(make("td"));
      row.cells.forEach((value) => {
        const cell = make("td", typeof value === "number" ? "nmtlab-number" : "", shown(value));
        cell.dir = "auto";
        cell.title = shown(value).slice(0, 1000);
        line.append(cell);
      });
      line.onclick = () => pick(row.key);
      part.append(line);
    });
    return part;
  };

  const markChosen = () => {
    if (!model.get("pickable")) return;
    const keys = new Set(model.get("chosen"));
    const lines = [...table.tBodies[0].rows];
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
    search.hidden = all < 6;
    scroll.style.maxHeight = model.get("height");
    const first = found.length > MAX_ROWS ? `first ${MAX_ROWS} of ` : "";
    count.textContent = found.length === all ? `${first}${all}` : `${first}${found.length} matching, ${all} in total`;
    table.replaceChildren(header(columns, found), body(found));
    markChosen();
    if (box.dataset.drawn === undefined) showChosen();
    box.dataset.drawn = Number(box.dataset.drawn ?? 0) + 1;
  };

  table.onkeydown = (event) => {
    const line = event.target.closest("tbody tr");
    if (!line) return;
    const next = { ArrowDown: line.nextSibling, ArrowUp: line.previousSibling }[event.key];
    if (next) next.focus();
    else if (event.key === "Enter" || event.key === " ") pick(line.dataset.key);
    else return;
    event.preventDefault();
  };
  search.oninput = draw;
  draw();
  model.on("change:content change:title", draw);
  model.on("change:chosen", () => {
    markChosen();
    showChosen();
  });
}

export default { render };
