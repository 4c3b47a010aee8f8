// The browser's side of a page: address, heartbeat while the page is visible, downloads.
const EVERY = 4000; // ms
const SILENT = 30000; // ms without an answer before a message is shown
const IDLE = 15 * 60000; // ms without user input before heartbeats stop and the kernel may be culled

// What ipywidgets does not tell a screen reader: messages, and which toggle button is pressed.
const describe = (page) => {
  page.querySelectorAll(".nmtlab-message").forEach((message) => message.setAttribute("role", "alert"));
  page.querySelectorAll(".widget-toggle-button").forEach((button) => {
    button.setAttribute("aria-pressed", button.classList.contains("mod-active"));
  });
};

function render({ model, el }) {
  const silent = document.createElement("div");
  silent.className = "nmtlab-message";
  silent.hidden = true;
  silent.textContent =
    "No answer: nmtlab is busy or was stopped, or this page is asleep. Reload the page to continue.";
  el.append(silent);
  let asked = 0; // when the oldest unanswered message was sent
  const voila = document.body.dataset.voila !== undefined;
  // Without this cookie Voila refuses to shut down the kernel when the page is closed; only its page list sets it.
  if (voila && !document.cookie.includes("_xsrf=")) fetch(location.pathname.replace(/\/render\/.*/, "/tree"));
  let touched = Date.now();
  const touch = () => (touched = Date.now());
  const signals = ["pointerdown", "keydown", "wheel"];
  signals.forEach((name) => document.addEventListener(name, touch, { passive: true }));

  const query = () => {
    const token = [...new URLSearchParams(location.search)].filter(([name]) => name === "token");
    return `?${new URLSearchParams([...new URLSearchParams(model.get("query")), ...token])}`;
  };
  const showQuery = () => {
    if (voila) history.replaceState(null, "", query());
  };
  const copy = async () => {
    const address = voila ? new URL(query(), location.href).href : location.href;
    let copied = true;
    try {
      await navigator.clipboard.writeText(address); // which only https and this machine have
    } catch {
      copied = false;
    }
    model.send({ copied, address });
  };
  const save = ({ file, content }) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type: "text/html" }));
    link.download = file;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  model.on("change:query", showQuery);
  model.on("change:answered", () => {
    asked = 0;
    silent.hidden = true;
    el.dataset.answered = model.get("answered"); // from here on the page matches its address
  });
  model.on("msg:custom", (message) => {
    if (message.save) save(message.save);
    if (message.copy) copy();
  });
  model.send({ opened: voila ? location.search : "" });
  let due = 0;
  const described = new MutationObserver(() => {
    cancelAnimationFrame(due);
    due = requestAnimationFrame(() => describe(el.closest(".nmtlab-page") ?? el));
  });
  described.observe(document.body, { subtree: true, childList: true, attributeFilter: ["class"] });
  const timer = setInterval(() => {
    if (document.hidden || Date.now() - touched > IDLE) return;
    asked ||= Date.now();
    silent.hidden = Date.now() - asked < SILENT;
    model.send({ looking: true });
  }, EVERY);
  const leave = () => clearInterval(timer); // Voila has then shut down the kernel, and the next page may take long to load
  if (voila) addEventListener("beforeunload", leave);
  return () => {
    leave();
    described.disconnect();
    removeEventListener("beforeunload", leave);
    signals.forEach((name) => document.removeEventListener(name, touch));
  };
}

export default { render };
