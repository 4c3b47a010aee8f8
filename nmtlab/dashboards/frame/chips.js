// Chips of what is chosen, and a button that opens the list as a panel over the page: the `.nmtlab-panel` of the chooser.
const make = (tag, name, text = "") => {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  return element;
};

function render({ model, el }) {
  const list = make("div", "nmtlab-chips");
  const button = make("button", "nmtlab-choose");
  button.setAttribute("aria-haspopup", "dialog");
  el.append(list, button);

  const panel = () => el.closest(".nmtlab-chooser").querySelector(".nmtlab-panel");
  const enter = () => {
    const place = model.get("sent") ? panel() : null;
    if (!place?.matches(":popover-open")) return;
    (place.querySelector("input[type=search]:not([hidden])") ?? place.querySelector('[tabindex="0"]'))?.focus();
    place.querySelector('tr[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  };

  const toggled = ({ newState }) => {
    if (newState !== "open") return;
    model.set("opened", true);
    model.save_changes();
    enter();
  };

  const prepared = () => {
    const place = panel();
    if (place.popover) return place;
    place.popover = "auto"; // closed by Escape, and by a click outside
    place.setAttribute("role", "dialog");
    place.setAttribute("aria-label", model.get("label"));
    const close = make("button", "nmtlab-close", "✕");
    close.setAttribute("aria-label", "Close");
    close.title = "Close (Escape)";
    close.onclick = () => place.hidePopover();
    place.append(close);
    place.addEventListener("toggle", toggled);
    return place;
  };
  button.onclick = () => (button.popoverTargetElement = prepared()); // which the click then opens or closes

  const chip = ({ key, label, title }) => {
    const one = make("span", "nmtlab-chip");
    const name = make("span", "", label);
    name.dir = "auto";
    one.title = title;
    one.append(name);
    if (model.get("removable")) {
      const cross = make("button", model.get("sets") && `nmtlab-sets-${model.get("sets")}`, "✕");
      cross.setAttribute("aria-label", `Remove ${label}`);
      cross.onclick = () => {
        model.send({ remove: key });
        button.focus();
      };
      one.append(cross);
    }
    return one;
  };

  const draw = () => {
    button.textContent = model.get("label");
    const groups = Object.groupBy(model.get("chips"), ({ group }) => group);
    list.replaceChildren(
      ...Object.entries(groups).flatMap(([group, chips]) => [...chips.map(chip), make("small", "nmtlab-chips-group", group)]),
    );
  };
  const sent = () => {
    button.dataset.sent = model.get("sent");
    enter();
  };
  draw();
  sent();
  model.on("change:chips change:label", draw);
  model.on("change:sent", sent);
}

export default { render };
