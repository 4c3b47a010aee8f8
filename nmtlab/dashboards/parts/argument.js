// The start page: draws its small figures, filters its claims, and shows the numbers of one.
const drawFigures = async (root, figures) => {
  const plotly = globalThis.Plotly ?? (await (globalThis.nmtlabPlotly ??= Promise.withResolvers()).promise);
  const draw = async () => {
    for (const place of root.querySelectorAll("[data-figure]")) {
      const { data, layout } = figureOf(figures[place.dataset.figure], place);
      plotly.react(place, data, layout, { displayModeBar: false, responsive: true });
      await new Promise((rest) => setTimeout(rest)); // so that each is seen before the next is drawn
    }
  };
  draw();
  onScheme(draw);
};

const argue = (root) => {
  const stored = root.querySelector("script[type='application/json']");
  if (!stored) return; // there are no results
  const { figures, claims } = JSON.parse(stored.textContent);
  const marks = [...root.querySelectorAll(".mark")];
  const filters = [...root.querySelectorAll("[data-filter]")];
  const chosen = {};
  const isShown = ({ dataset }, but) => Object.entries(chosen).every(([of, value]) => of === but || dataset[of] === value);

  const close = () => {
    root.querySelector(".numbers")?.remove();
    root.querySelector(".mark[aria-expanded='true']")?.setAttribute("aria-expanded", "false");
  };
  const filter = () => {
    close();
    for (const mark of marks) mark.hidden = !isShown(mark);
    for (const row of root.querySelectorAll("tr[data-claim]")) row.hidden = !row.querySelector(".mark:not([hidden])");
    for (const section of root.querySelectorAll(".section")) section.hidden = !section.querySelector("tr[data-claim]:not([hidden])");
    for (const button of filters) {
      const { filter: of, value } = button.dataset;
      const count = marks.filter((mark) => mark.dataset[of] === value && isShown(mark, of)).length;
      const number = button.querySelector("b");
      if (number) number.textContent = count;
      else button.style.flexGrow = count;
      button.hidden = !number && !count;
      button.setAttribute("aria-pressed", chosen[of] === value);
    }
  };
  for (const button of filters) {
    button.addEventListener("click", () => {
      const { filter: of, value } = button.dataset;
      if (chosen[of] === value) delete chosen[of];
      else chosen[of] = value;
      filter();
    });
  }

  const element = (name, text = "", about = {}) => Object.assign(document.createElement(name), { textContent: text, ...about });
  const cellsOf = (name, values, place, tag = "td") => {
    const row = element("tr");
    row.append(element("th", name, { scope: "row" }));
    values.forEach((value, number) => row.append(element(tag, value, { className: number === place ? "chosen" : "" })));
    return row;
  };
  const numbersOf = ({ claim, about, texts, numbers, links }, place) => {
    const inside = element("div", "", { className: "inside" });
    const table = element("table");
    table.append(cellsOf("text", texts, place));
    for (const [name, values] of numbers) table.append(cellsOf(name, values, place));
    if (links.length) {
      const row = cellsOf("look", links.map(() => ""), place);
      links.forEach((link, number) => (row.children[number + 1].innerHTML = link)); // made by nmtlab, escaped there
      table.append(row);
    }
    inside.append(element("h3", claim), element("p", about, { className: "hint" }), table);
    return inside;
  };
  const show = (mark) => {
    const again = mark.getAttribute("aria-expanded") === "true";
    close();
    if (again) return;
    const row = mark.closest("tr");
    const claim = claims[row.dataset.claim];
    const cell = element("td", "", { colSpan: row.children.length });
    cell.append(numbersOf(claim, claim.lines.indexOf(Number(mark.dataset.line))));
    const below = element("tr", "", { className: "numbers" });
    below.append(cell);
    row.after(below);
    mark.setAttribute("aria-expanded", "true");
  };
  const lead = (line) => {
    const mark = marks.find((one) => one.dataset.line === line);
    for (const of of Object.keys(chosen)) delete chosen[of];
    filter();
    mark.closest("details").open = true;
    show(mark);
    mark.focus({ preventScroll: true });
    mark.closest("tr").scrollIntoView({ block: "center" });
  };
  for (const mark of marks) mark.addEventListener("click", () => show(mark));
  for (const chip of root.querySelectorAll(".chip")) chip.addEventListener("click", () => lead(chip.dataset.line));
  const asked = claims.find(({ claim }) => claim === new URLSearchParams(location.search).get("claim"));
  if (asked) lead(String(asked.lines[0]));
  drawFigures(root, figures);
};
