// The browser's side of a page: address, heartbeat while the page is visible, downloads, what is being computed.
const EVERY = 4000; // ms
const BUSY = 300; // ms without an answer before a bar is shown
const LONG = 5000; // ms without an answer before a message is shown
const ASLEEP = 40000; // ms without an answer before it says that the page may have been asleep
const IDLE = 15 * 60000; // ms without user input before heartbeats stop and the kernel may be culled

// What ipywidgets does not tell a screen reader: messages, and which toggle button is pressed.
const describe = (page) => {
  page.querySelectorAll(".nmtlab-message").forEach((message) => message.setAttribute("role", "alert"));
  page.querySelectorAll(".widget-toggle-button").forEach((button) => {
    button.setAttribute("aria-pressed", button.classList.contains("mod-active"));
  });
};

// The names of the state that a control sets, and the parts that depend on them.
const namesOf = (element, what) =>
  [...(element?.classList ?? [])].filter((name) => name.startsWith(`nmtlab-${what}-`)).map((name) => name.slice(8 + what.length));
const partsOf = (page, names) => (names.length ? page.querySelectorAll(names.map((name) => `.nmtlab-of-${CSS.escape(name)}`).join()) : []);

function render({ model, el }) {
  const voila = document.body.dataset.voila !== undefined;
  const waiting = document.createElement("div");
  waiting.className = "nmtlab-waiting";
  waiting.setAttribute("role", "status");
  waiting.hidden = true;
  const choices = document.createElement("button");
  choices.className = "nmtlab-choices";
  choices.textContent = "Runs and settings";
  setTimeout(() => choices.setAttribute("aria-expanded", page().classList.contains("nmtlab-rail-open")));
  choices.onclick = () => choices.setAttribute("aria-expanded", page().classList.toggle("nmtlab-rail-open"));
  el.append(waiting, choices);
  const page = () => el.closest(".nmtlab-page") ?? el;
  let event = model.get("done"); // number of the last one
  let confirmed = event; // the last after whose answer it was asked again, as changes may be held back until then
  let asked = 0; // when the oldest unanswered message was sent
  let stopped = false; // whether nmtlab does not even answer to requests for a file
  const file = location.pathname.replace(/render\/.*/, "templates/nmtlab/static/glossary.html");
  const probe = async () => {
    stopped = voila && (await fetch(file, { cache: "no-store" }).then((answer) => answer.status >= 502, () => true));
  };
  const showWaiting = () => {
    const ms = asked ? Date.now() - asked : 0;
    waiting.hidden = ms < BUSY;
    const asleep = ms < ASLEEP ? "" : "; if this page was left for long, reload it";
    const long = ms < LONG ? "" : `Still computing (${Math.round(ms / 1000)} s)${asleep}`;
    waiting.textContent = stopped && long ? "nmtlab does not answer: start it again, then reload this page." : long;
  };
  let watched = 0; // ticks since the oldest unanswered message, of one timer
  const watch = () => {
    showWaiting();
    watched = asked ? watched + 1 : 0;
    if (watched) setTimeout(watch, 100);
    if (watched && watched % 50 === 0) probe();
  };
  let left = false; // the page, whose kernel Voila has then shut down
  const ask = (content) => {
    if (left) return;
    if (!asked) {
      asked = Date.now();
      stopped = false;
      if (!watched) setTimeout(watch, BUSY);
      watched ||= 1;
    }
    model.send(content);
  };
  // After the message of the control itself, so that the answer to this one says that all is shown.
  const acted = ({ target, type, key }) => {
    if (!page().contains(target) || (type === "keydown" && key !== "Enter" && !key.startsWith("Arrow"))) return;
    partsOf(page(), namesOf(target.closest("[class*=nmtlab-sets-]"), "sets")).forEach((part) => part.classList.add("nmtlab-stale"));
    const number = ++event;
    setTimeout(() => ask({ event: number }));
  };
  const acts = ["click", "change", "keydown"];
  acts.forEach((name) => document.addEventListener(name, acted, true));
  const settle = () => {
    page().querySelectorAll(".nmtlab-stale").forEach((part) => part.classList.remove("nmtlab-stale"));
  };
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
  let pushed = event; // the event after which the address was last kept for Back
  const showQuery = () => {
    if (!voila) return;
    const again = event === pushed || model.get("done") >= event; // nothing that a person did since
    if (query() !== location.search) history[again ? "replaceState" : "pushState"](null, "", query());
    pushed = event;
  };
  const goBack = () => ask({ back: location.search });
  if (voila) addEventListener("popstate", goBack);
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
    const done = model.get("done") >= event;
    if (done && confirmed < event) {
      confirmed = event;
      ask({ event });
    } else if (done) {
      asked = 0;
      settle();
    }
    showWaiting();
    showQuery();
    document.body.classList.remove("nmtlab-unread");
    el.dataset.answered = model.get("answered"); // from here on the page matches its address
  });
  model.on("msg:custom", (message) => {
    if (message.save) save(message.save);
    if (message.copy) copy();
  });
  document.body.classList.toggle("nmtlab-unread", voila && location.search.length > 1);
  ask({ opened: voila ? location.search : "" });
  let due = 0;
  const described = new MutationObserver(() => {
    cancelAnimationFrame(due);
    due = requestAnimationFrame(() => describe(el.closest(".nmtlab-page") ?? el));
  });
  described.observe(document.body, { subtree: true, childList: true, attributeFilter: ["class"] });
  const timer = setInterval(() => {
    if (document.hidden || Date.now() - touched > IDLE) return;
    ask({ looking: true });
  }, EVERY);
  const leave = () => {
    left = true;
    clearInterval(timer);
  };
  if (voila) addEventListener("beforeunload", leave);
  return () => {
    leave();
    described.disconnect();
    removeEventListener("beforeunload", leave);
    signals.forEach((name) => document.removeEventListener(name, touch));
    acts.forEach((name) => document.removeEventListener(name, acted, true));
    removeEventListener("popstate", goBack);
  };
}

export default { render };
