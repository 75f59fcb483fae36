// Send forms with fetch and replace parts of the page. Without this file, forms load a new page.

const SCRIPT = { "X-Teaser-Script": "1" };
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const find = (key) => document.querySelector(`[data-key="${CSS.escape(key)}"]`);

document.documentElement.classList.add("scripted");

// Actions run one after the other, so that two quick presses both count.
let queue = Promise.resolve();
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.getAttribute("action") !== "/act" || "leave" in form.dataset) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, event.submitter));
  const keeps = event.submitter?.name?.startsWith("press") ?? false;
  queue = queue.then(() => send(body, keeps)).catch(() => say(document.body.dataset.offline));
});

async function send(body, keepsOrder) {
  const response = await fetch("/act", { method: "POST", body, headers: SCRIPT });
  const text = await response.text();
  if (!response.ok) return say(readTrouble(text));
  say("");
  const fresh = new DOMParser().parseFromString(text, "text/html");
  await swap(fresh, keepsOrder);
  const notice = document.querySelector("[data-notice] p");
  document.getElementById("live").textContent = notice ? notice.textContent : "";
}

function readTrouble(text) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const message = page.querySelector("[data-message]");
  return message ? message.textContent : document.body.dataset.offline;
}

function say(trouble) {
  document.getElementById("trouble").textContent = trouble;
}

let running = null;
async function swap(fresh, keepsOrder) {
  const update = () => replace(fresh, keepsOrder);
  if (!document.startViewTransition || calm.matches || document.hidden) return update();
  running?.skipTransition();
  nameCards();
  running = document.startViewTransition(() => { update(); nameCards(); });
  running.finished.finally(() => unnameCards()).catch(() => {});
  running.ready.catch(() => {});
  await running.updateCallbackDone;
}

// Animate the visible cards to their new positions.
function nameCards() {
  document.querySelectorAll("[data-card]").forEach((card, place) => {
    const box = card.getBoundingClientRect();
    const seen = box.bottom > 0 && box.top < innerHeight && place < 40;
    card.style.viewTransitionName = seen ? "card-" + hash(card.dataset.card) : "";
  });
}
function unnameCards() {
  document.querySelectorAll("[data-card]").forEach((card) => { card.style.viewTransitionName = ""; });
}
const hash = (text) => [...text].reduce((sum, c) => (sum * 31 + c.codePointAt(0)) % 2147483647, 7);

function replace(fresh, keepsOrder) {
  const active = document.activeElement;
  const key = active?.dataset?.key;
  const typed = new Map([...document.querySelectorAll("main input:is([type=search], :not([type]))[data-key]")].map((e) => [e.dataset.key, e.value]));
  const open = new Map([...document.querySelectorAll("main details[data-key]")].filter((e) => keepsOrder || touched.has(e.dataset.key)).map((e) => [e.dataset.key, e.open]));
  const scrolls = [...document.querySelectorAll("[data-scroll]")].map((e) => e.scrollTop);
  const images = new Map([...document.images].map((e) => [pictureKey(e), e]));
  const loaded = new Map([...document.querySelectorAll("details[data-load][open]")].map((e) => [e.dataset.key, e.querySelector("[data-loaded]")]));
  const order = new Map();
  if (keepsOrder) for (const list of document.querySelectorAll("[data-stable]")) {
    order.set(list.dataset.stable, [...list.children].map((e) => e.dataset.key));
  }
  const at = active?.getBoundingClientRect().top;

  for (const old of document.querySelectorAll("[data-swap]")) {
    const next = fresh.getElementById(old.id);
    if (next) old.replaceWith(document.adoptNode(next));
  }

  for (const image of document.querySelectorAll("main img")) {
    const same = images.get(pictureKey(image));
    if (same && !same.isConnected) image.replaceWith(same);
  }
  for (const list of document.querySelectorAll("[data-stable]")) settle(list, order.get(list.dataset.stable));
  for (const details of document.querySelectorAll("main details[data-key]")) {
    details.open = open.get(details.dataset.key) ?? details.open;
  }
  for (const [name, value] of typed) { const input = find(name); if (input) input.value = value; }
  // What is folded out stays until it is loaded again, so that the focus has a place.
  for (const [name, content] of loaded) {
    content.isEdited = false;
    find(name)?.querySelector("[data-loaded]")?.replaceWith(content);
  }
  document.querySelectorAll("[data-scroll]").forEach((e, i) => { e.scrollTop = scrolls[i] ?? 0; });
  prepare();
  if (key) refocus(key, at);
}

const pictureKey = (image) => image.parentElement.className + image.getAttribute("src");

// Rows keep their order until the page is loaded again, so that a button stays under the pointer.
function settle(list, keys) {
  if (!keys) return;
  const place = new Map(keys.map((k, i) => [k, i]));
  const rank = (e) => place.get(e.dataset.key) ?? keys.length;
  const rows = [...list.children];
  const sorted = [...rows].sort((a, b) => rank(a) - rank(b));
  if (sorted.some((row, i) => row !== rows[i])) list.append(...sorted);
}

function refocus(key, at) {
  const same = find(key);
  if (!same || same.disabled) {
    document.getElementById("notice")?.focus({ preventScroll: true });
    return;
  }
  same.focus({ preventScroll: true });
  const panel = same.closest("[data-scroll]");
  const shift = same.getBoundingClientRect().top - at;
  if (panel && panel.scrollHeight > panel.clientHeight) panel.scrollTop += shift;
}

// Fetch parts of the page when they are opened.
async function load(holder) {
  try {
    const response = await fetch(holder.dataset.load, { headers: SCRIPT });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const results = page.querySelector("[data-results]");
    if (!results || !holder.isConnected) return;
    const target = holder.querySelector("[data-loaded]");
    if (target.isEdited) return; // what the visitor fills in stays
    const key = target.contains(document.activeElement) && document.activeElement.dataset.key;
    target.replaceChildren(...results.childNodes);
    target.className = results.className;
    if (key) find(key)?.focus({ preventScroll: true });
  } catch { /* the link in its place still works */ }
}

function prepare() {
  for (const holder of document.querySelectorAll("section[data-load]")) load(holder);
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  for (const image of framed()) if (missing.has(image.getAttribute("src"))) image.remove();
}

document.addEventListener("toggle", (event) => {
  if (event.target.open && event.target.matches?.("details[data-load]")) load(event.target);
}, true);

document.addEventListener("input", (event) => {
  const part = event.target.closest("[data-loaded]");
  if (part) part.isEdited = true;
});

// Details that the visitor opened or closed stay so; others follow the new page.
const touched = new Set();
document.addEventListener("click", (event) => {
  const details = event.target.closest("summary")?.parentElement;
  if (details?.dataset.key) touched.add(details.dataset.key);
}, true);

// Show the value of a slider in words while it moves.
document.addEventListener("input", (event) => {
  const { said } = event.target.dataset;
  if (!said) return;
  const words = JSON.parse(said);
  const text = words[Math.round(event.target.value * (words.length - 1))];
  event.target.setAttribute("aria-valuetext", text);
  event.target.form.querySelector("[data-words]").textContent = text;
});

document.addEventListener("change", (event) => {
  if (event.target.form?.matches("[data-auto]")) event.target.form.requestSubmit();
});

// Count again what would change, whenever a wish is taken off or put back.
document.addEventListener("change", async (event) => {
  const form = event.target.form;
  if (!form?.matches("[data-preview]")) return;
  const asked = new URLSearchParams(new FormData(form));
  try {
    const response = await fetch(`/say?${asked}`, { headers: SCRIPT });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.getElementById("preview");
    if (fresh) document.getElementById("preview").replaceChildren(...fresh.childNodes);
  } catch { /* the button that counts again still works */ }
});

document.addEventListener("click", async (event) => {
  const menu = document.querySelector(".menu[open]");
  if (menu && !menu.contains(event.target)) menu.open = false;
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const input = document.getElementById(copy.dataset.copy);
    input.select();
    try { await navigator.clipboard.writeText(input.value); } catch { document.execCommand("copy"); }
    document.getElementById("live").textContent = copy.textContent = document.body.dataset.copied;
  }
});

document.addEventListener("keydown", (event) => {
  const menu = document.querySelector(".menu[open]");
  if (event.key === "Escape" && menu) { menu.open = false; menu.querySelector("summary").focus(); }
  if (event.key === "/" && !event.target.closest?.("input, select, textarea, dialog")) {
    event.preventDefault();
    document.getElementById("q").focus();
  }
});

// The tour: the steps of its page in a dialog, one for each part that is on this page.
async function openTour(address) {
  const page = new DOMParser().parseFromString(await (await fetch(address)).text(), "text/html");
  const spot = (step) => document.querySelector(`[data-tour="${step.dataset.step}"]`);
  const steps = [...page.querySelectorAll("[data-step]")].filter(spot);
  const buttons = page.querySelector("[data-tour-buttons]");
  if (!steps.length) return location.assign(address);
  const tour = document.createElement("dialog");
  const counter = document.createElement("p");
  let place = 0;
  tour.id = "tour";
  tour.setAttribute("aria-labelledby", "tour-title");
  counter.className = "hint";
  counter.id = "tour-title";
  buttons.hidden = false;
  tour.append(counter, ...steps, buttons);
  document.body.append(tour);
  const dim = () => document.querySelectorAll(".spot").forEach((e) => e.classList.remove("spot"));
  const show = (next) => {
    place = next;
    dim();
    steps.forEach((step, i) => { step.hidden = i !== place; });
    const part = spot(steps[place]);
    part.classList.add("spot");
    part.scrollIntoView({ block: part.offsetHeight > innerHeight / 2 ? "start" : "center", behavior: "instant" });
    counter.textContent = `${page.querySelector("h1").textContent} ${place + 1} / ${steps.length}`;
    tour.querySelector("[data-tour-back]").disabled = place === 0;
    const button = tour.querySelector("[data-tour-next]");
    button.textContent = place === steps.length - 1 ? button.dataset.last : button.dataset.more;
  };
  tour.addEventListener("close", () => { dim(); tour.remove(); localStorage.setItem("teaser-tour", "seen"); scrollTo(0, 0); });
  tour.addEventListener("click", (event) => {
    if (event.target.closest("[data-tour-close]")) tour.close();
    if (event.target.closest("[data-tour-back]") && place > 0) show(place - 1);
    if (event.target.closest("[data-tour-next]")) place === steps.length - 1 ? tour.close() : show(place + 1);
  });
  tour.showModal();
  show(0);
  tour.querySelector("[data-tour-next]").focus();
}
document.addEventListener("click", (event) => {
  const start = event.target.closest("[data-tour-start]");
  if (!start) return;
  event.preventDefault();
  document.querySelectorAll(".menu[open]").forEach((menu) => { menu.open = false; });
  openTour(start.href).catch(() => location.assign(start.href));
});
// On a phone the parts lie far apart: there the tour starts when it is asked for.
if (document.querySelector("[data-tour-first]") && !localStorage.getItem("teaser-tour") && matchMedia("(min-width: 48em)").matches) openTour("/tour").catch(() => {});

// Show the page of a tag in a dialog instead of following its link.
const about = document.createElement("dialog");
const aboutSaid = document.createElement("p");
about.id = "about";
about.setAttribute("aria-labelledby", "about-title");
aboutSaid.setAttribute("role", "status");
document.body.append(about);
let aboutPath = "";
let aboutOpener = null;

async function readAbout() {
  const response = await fetch(aboutPath, { headers: SCRIPT });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const found = page.querySelector("[data-about]");
  if (!response.ok || !found) throw new Error(aboutPath);
  const title = document.createElement("h2");
  title.id = "about-title";
  title.tabIndex = -1;
  title.autofocus = true;
  title.append(...found.querySelector("h1").childNodes);
  found.querySelector("h1").replaceWith(title);
  found.querySelector("[data-about-close]").hidden = false;
  found.querySelector(".head").after(aboutSaid);
  about.replaceChildren(document.adoptNode(found));
}

async function openAbout(path, opener) {
  aboutPath = path;
  aboutOpener = opener;
  aboutSaid.textContent = "";
  try { await readAbout(); } catch { return location.assign(path); }
  if (!about.open) about.showModal();
}

// Live regions behind a modal dialog are not read out, so the effect is repeated inside it.
async function refreshAbout() {
  const key = document.activeElement?.dataset?.key;
  try { await readAbout(); } catch { return about.close(); }
  const same = key && about.querySelector(`[data-key="${CSS.escape(key)}"]:enabled`);
  (same || about.querySelector("h2")).focus({ preventScroll: true });
  aboutSaid.textContent = document.getElementById("trouble").textContent || document.getElementById("live").textContent;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.('main a[href^="/tag?"]');
  const isPlain = !event.button && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!link || !isPlain || location.pathname === "/tag") return;
  event.preventDefault();
  openAbout(link.getAttribute("href"), link);
});
document.addEventListener("submit", (event) => {
  if (about.open && event.target.getAttribute("action") === "/act") queue = queue.then(refreshAbout);
});
about.addEventListener("click", (event) => {
  if (event.target === about || event.target.closest("[data-about-close]")) about.close();
});
about.addEventListener("close", () => {
  const same = aboutOpener?.isConnected ? aboutOpener : document.querySelector(`main a[href="${CSS.escape(aboutPath)}"]`);
  same?.focus({ preventScroll: true });
});

// Suggest items and tags while the visitor types; Enter alone opens the page of results.
const field = document.getElementById("q");
if (field) {
  const box = document.createElement("div");
  const known = new Map();
  let chosen = null;
  let timer = 0;
  let asking = null;
  box.id = "suggestions";
  box.hidden = true;
  box.setAttribute("role", "listbox");
  box.setAttribute("aria-label", field.labels[0].textContent);
  field.form.append(box);
  for (const [name, value] of Object.entries({ role: "combobox", "aria-expanded": "false", "aria-controls": "suggestions", "aria-autocomplete": "list" })) field.setAttribute(name, value);

  const options = () => [...box.querySelectorAll("[role=option]")];
  const choose = (option) => {
    chosen?.setAttribute("aria-selected", "false");
    chosen = option ?? null;
    chosen?.setAttribute("aria-selected", "true");
    chosen?.scrollIntoView({ block: "nearest" });
    if (chosen) field.setAttribute("aria-activedescendant", chosen.id);
    else field.removeAttribute("aria-activedescendant");
  };
  const close = () => {
    clearTimeout(timer);
    asking?.abort();
    choose(null);
    box.hidden = true;
    field.setAttribute("aria-expanded", "false");
  };
  const show = (text) => {
    const found = new DOMParser().parseFromString(text, "text/html").querySelector("[data-options]");
    choose(null);
    box.replaceChildren(...(found?.children ?? []));
    box.hidden = !box.childElementCount;
    field.setAttribute("aria-expanded", String(!box.hidden));
    document.getElementById("live").textContent = found?.dataset.said ?? "";
  };
  const ask = async () => {
    const words = field.value.trim();
    asking?.abort();
    if (words.length < 2) return close();
    if (known.has(words)) return show(known.get(words));
    const mine = asking = new AbortController();
    try {
      const response = await fetch(`/suggest?${new URLSearchParams({ q: words })}`, { signal: mine.signal });
      if (!response.ok) return close();
      known.set(words, await response.text());
      if (mine === asking && document.activeElement === field) show(known.get(words));
    } catch { /* aborted by another letter, or no answer: Enter still opens the results */ }
  };
  const go = (option) => {
    const path = option.dataset.href;
    close();
    if (path.startsWith("/tag?") && location.pathname !== "/tag") openAbout(path, field);
    else location.assign(path);
  };
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 180); });
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && box.hidden) ask();
    else if (step) {
      const all = [...options(), null];
      choose(all[(all.indexOf(chosen) + step + all.length) % all.length]);
    } else if (event.key === "Enter" && chosen) go(chosen);
    else if (event.key === "Escape" && !box.hidden) close();
    else return;
    event.preventDefault();
  });
  box.addEventListener("pointerdown", (event) => event.preventDefault());
  box.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) go(option);
  });
}

// Remove pictures that cannot be loaded, also those that failed before this file came and those on
// parts that are fetched later. The drawn cover behind them is seen then.
const missing = new Set();
const framed = () => document.querySelectorAll(".frame > img");
const drop = (image) => { missing.add(image.getAttribute("src")); image.remove(); };
document.addEventListener("error", (event) => {
  if (event.target.matches?.(".frame > img")) drop(event.target);
}, true);
for (const image of framed()) {
  if (image.complete && !image.naturalWidth) image.decode().catch(() => drop(image));
}

prepare();
