// What a page asks of the browser: its address, a sign of life while someone is looking, files to save.
const EVERY = 4000; // ms
const SILENT = 30000; // ms without an answer, after which a person is told
const IDLE = 15 * 60000; // ms without a touch, after which the kernel is left alone and may be culled

function render({ model, el }) {
  const silent = document.createElement("div");
  silent.className = "nmtlab-message";
  silent.hidden = true;
  silent.textContent =
    "There is no answer: nmtlab is busy or was stopped, or this page was put to sleep. Reload it to go on where it stands.";
  el.append(silent);
  let asked = 0; // when the first question was sent that has not been answered
  const voila = document.body.dataset.voila !== undefined;
  // Without its cookie Voila refuses to end the kernel of a page that is left; only its list of pages gives it.
  if (voila && !document.cookie.includes("_xsrf=")) fetch(location.pathname.replace(/\/render\/.*/, "/tree"));
  let touched = Date.now();
  const touch = () => (touched = Date.now());
  const signals = ["pointerdown", "keydown", "wheel"];
  signals.forEach((name) => document.addEventListener(name, touch, { passive: true }));

  const told = () => {
    if (!voila) return;
    const others = [...new URLSearchParams(location.search)].filter(([name]) => name === "token");
    const query = new URLSearchParams([...new URLSearchParams(model.get("query")), ...others]);
    history.replaceState(null, "", `?${query}`);
  };
  const save = ({ file, content }) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type: "text/html" }));
    link.download = file;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  model.on("change:query", told);
  model.on("change:answered", () => {
    asked = 0;
    silent.hidden = true;
    el.dataset.answered = model.get("answered"); // from here on the page is as its address asks
  });
  model.on("msg:custom", (message) => {
    if (message.save) save(message.save);
    if (message.copy && navigator.clipboard) navigator.clipboard.writeText(location.href);
  });
  model.send({ opened: voila ? location.search : "" });
  const timer = setInterval(() => {
    if (document.hidden || Date.now() - touched > IDLE) return;
    asked ||= Date.now();
    silent.hidden = Date.now() - asked < SILENT;
    model.send({ looking: true });
  }, EVERY);
  const leave = () => clearInterval(timer); // Voila has then ended the kernel, and the next page may be long in coming
  if (voila) addEventListener("beforeunload", leave);
  return () => {
    leave();
    removeEventListener("beforeunload", leave);
    signals.forEach((name) => document.removeEventListener(name, touch));
  };
}

export default { render };
