// Figures in the colours of the page, light or dark. DARK, which precedes this, has the dark partner of each colour.
const isDark = (element) => {
  const scheme = getComputedStyle(element).colorScheme;
  return scheme === "dark" || (scheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches);
};

const inDark = (colour) => {
  const numbers = colour.match(/^rgba?\((\d+), ?(\d+), ?(\d+)(?:, ?([\d.]+))?\)$/);
  if (!numbers) return DARK[colour] ?? colour;
  const hex = "#" + numbers.slice(1, 4).map((part) => Number(part).toString(16).padStart(2, "0")).join("");
  const opacity = Math.round(255 * (numbers[4] ?? 1)).toString(16).padStart(2, "0");
  return hex in DARK ? DARK[hex] + opacity : colour;
};

// Only what a key calls a colour is one: a text may be the word "#ffffff".
const recoloured = (value, key = "") => {
  if (typeof value === "string") return key.includes("color") ? inDark(value) : value;
  if (Array.isArray(value)) return value.map((one) => recoloured(one, key));
  if (!value || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, recoloured(one, name)]));
};

const figureOf = (spec, element) => (isDark(element) ? recoloured(JSON.parse(spec)) : JSON.parse(spec));

// Calls `answer` when the scheme may have changed; returns a function that ends this.
const onScheme = (answer) => {
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  const chosen = new MutationObserver(answer);
  preferred.addEventListener("change", answer);
  for (const one of [document.documentElement, document.body]) {
    chosen.observe(one, { attributeFilter: ["style", "data-jp-theme-light"] });
  }
  return () => {
    preferred.removeEventListener("change", answer);
    chosen.disconnect();
  };
};
