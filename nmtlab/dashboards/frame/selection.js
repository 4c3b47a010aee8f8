// The tokens of a sentence as buttons, the selected one, and links to what other pages say of it.
const make = (tag, name, text = "") => {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.textContent = text;
  return element;
};

function render({ model, el }) {
  const box = make("div", "nmtlab-selection");
  const lines = make("div");
  const said = make("span", "nmtlab-selected");
  said.setAttribute("role", "status"); // which a screen reader reads whenever it changes
  const clear = make("button", "nmtlab-link", "clear");
  clear.title = "Clear the selection (Escape)";
  const links = make("span", "nmtlab-selection-links");
  const foot = make("div", "nmtlab-selection-foot");
  foot.append(said, clear, links);
  box.append(lines, foot);
  el.append(box);

  const choose = (value) => {
    model.set("value", value);
    model.save_changes();
  };
  clear.onclick = () => choose("");

  const line = ({ name, side, tokens, shown, marked, wrong, dir }) => {
    const row = make("div", "nmtlab-tokens");
    row.setAttribute("role", "toolbar"); // one stop of the tab key, then arrow keys
    row.setAttribute("aria-label", name);
    const words = make("span", "nmtlab-tokens-line");
    words.dir = dir;
    row.append(make("span", "nmtlab-tokens-name", name), words);
    tokens.forEach((word, place) => {
      const button = make("button", wrong.includes(place) ? "nmtlab-wrong" : "");
      if (shown[place] === `·${word}`) button.append(make("span", "nmtlab-joint", "·"), word);
      else button.append(shown[place]);
      const value = `${side}:${place + 1}:${word}`;
      const picked = marked.includes(place);
      button.dir = "auto";
      button.dataset.token = value;
      button.tabIndex = place === (marked[0] ?? 0) ? 0 : -1;
      button.setAttribute("aria-pressed", picked);
      button.onclick = () => choose(picked ? "" : value);
      words.append(button);
    });
    return row;
  };

  const draw = () => {
    const focused = lines.contains(document.activeElement) ? document.activeElement.dataset.token : null;
    const place = focused ? [...lines.children].indexOf(document.activeElement.closest(".nmtlab-tokens")) : 0;
    lines.replaceChildren(...model.get("lines").map(line));
    box.hidden = !model.get("lines").length && !model.get("value");
    if (focused) lines.children[place]?.querySelector(`[data-token="${CSS.escape(focused)}"]`)?.focus();
  };
  const tell = () => {
    said.textContent = model.get("said");
    clear.hidden = !model.get("value");
    const list = model.get("links").map(({ href, question, page }) => {
      const link = make("a", "", question);
      link.href = href;
      link.title = `On the page ${page}`;
      return link;
    });
    links.replaceChildren(...list);
    box.hidden = !model.get("lines").length && !model.get("value");
  };

  lines.onkeydown = (event) => {
    const words = event.target.parentElement;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key] * (words.dir === "rtl" ? -1 : 1);
    const buttons = [...words.querySelectorAll("button")];
    const next = buttons[buttons.indexOf(event.target) + step];
    if (!step || !next) return;
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    event.preventDefault();
  };
  const escape = (event) => {
    const typing = event.target.closest?.("input, textarea, select");
    if (event.key === "Escape" && !typing && model.get("value")) choose("");
  };
  document.addEventListener("keydown", escape);
  draw();
  tell();
  model.on("change:lines", draw);
  model.on("change:said change:links change:value", tell);
  return () => document.removeEventListener("keydown", escape);
}

export default { render };
