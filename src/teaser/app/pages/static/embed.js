// A list with reasons in a page of another site:
//   <script src="https://server/embed.js" data-k="5" async></script>
// What the visitor presses and opens stays in the page's localStorage. No cookie is set, and
// nothing is asked of anybody but the server of this script.
(() => {
  const script = document.currentScript;
  const { k, title, language, only, without, when, history, target, remember } = script.dataset;
  const address = new URL("embed", script.src);
  const storageKey = "teaser " + address.host;
  const MAX_PRESSES = 5;
  const MAX_HISTORY = 50;
  const CSS = `
    :host { display: block; container-type: inline-size; }
    h2 { font-size: 1.25em; margin: 0 0 .5em; }
    ol, ul { list-style: none; margin: 0; padding: 0; }
    ol { display: grid; gap: .75em; grid-template-columns: repeat(auto-fill, minmax(min(17em, 100%), 1fr)); }
    ol > li { border: 1px solid var(--teaser-line, #767676); border-radius: .5em; padding: .75em; }
    a { color: var(--teaser-accent, inherit); font-weight: bold; overflow-wrap: anywhere; }
    p { margin: .25em 0 0; }
    ul { margin-top: .5em; }
    ul > li { align-items: center; display: flex; gap: .35em; margin-top: .25em; }
    ul span { flex: 1; overflow-wrap: anywhere; }
    button { background: none; border: 1px solid currentColor; border-radius: .35em; color: inherit;
      cursor: pointer; font: inherit; min-height: 1.8em; min-width: 1.8em; padding: 0 .4em; }
    button:focus-visible, a:focus-visible, h2:focus-visible { outline: 3px solid; outline-offset: 2px; }
    button[aria-disabled="true"] { cursor: default; text-decoration: line-through; }
    .again { margin-top: .75em; }
    .status { clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; width: 1px; }`;

  // Items that the visitor opened, and net presses by tag.
  let state = { viewed: [], presses: {} };

  // Another list of the page may have changed it.
  function recall() {
    if (remember === "no") return;
    try { state = { ...state, ...JSON.parse(localStorage.getItem(storageKey)) }; } catch { /* new */ }
  }
  recall();

  function keep() {
    if (remember === "no") return;
    try { localStorage.setItem(storageKey, JSON.stringify(state)); } catch { /* memory will do */ }
  }

  function make(name, values = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(values)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  const names = (text) => (text ?? "").split(";").map((name) => name.trim()).filter(Boolean);
  const host = make("div");
  const root = host.attachShadow({ mode: "open" });
  // A sheet of the script's own: a strict policy of the page refuses style elements.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(CSS);
  root.adoptedStyleSheets = [sheet];
  const heading = make("h2", { tabindex: "-1" });
  const list = make("div");
  const status = make("p", { class: "status", role: "status" });
  const trouble = make("p", { role: "alert" });
  root.append(make("section", {}, heading, list, trouble, status));

  async function ask() {
    const viewed = [...names(history), ...state.viewed];
    const body = {
      k: Number(k ?? 6),
      language: language ?? "",
      history: [...new Set(viewed)],
      presses: Object.entries(state.presses).map(([tag, steps]) => ({ tag, steps })),
      filters: { only: names(only), without: names(without), when: when ?? "" },
    };
    const answer = await fetch(address, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/json" },
      credentials: "omit",
      referrerPolicy: "no-referrer",
    });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error.message);
    return found;
  }

  // Presses are answered one after the other, so that two quick ones both count.
  let queue = Promise.resolve();
  function update(focus) {
    queue = queue.then(ask).then((found) => draw(found, focus)).catch((error) => {
      trouble.textContent = error instanceof TypeError
        ? "The list cannot be loaded now. Try again later." : error.message;
    });
  }

  function press(reason, step, focus) {
    recall();
    const steps = (state.presses[reason.tag] ?? 0) + step;
    if (Math.abs(steps) > MAX_PRESSES) return;
    state.presses[reason.tag] = steps;
    if (!steps) delete state.presses[reason.tag];
    keep();
    status.textContent = `${reason.label}: ${steps > 0 ? "+" : ""}${steps}`;
    update(focus);
  }

  function open(item) {
    recall();
    state.viewed = [...state.viewed.filter((id) => id !== item.item_id), item.item_id];
    state.viewed = state.viewed.slice(-MAX_HISTORY);
    keep();
  }

  function startAgain() {
    state = { viewed: [], presses: {} };
    keep();
    update("");
  }

  function drawReason(reason, item, texts) {
    const steps = reason.tag === null ? 0 : state.presses[reason.tag] ?? 0;
    const button = (text, sign, step) => {
      const key = JSON.stringify([item.item_id, reason.tag, step]);
      return make("button", {
        type: "button",
        "data-key": key,
        "aria-label": text.replace("{tag}", reason.label),
        "aria-disabled": String(Math.abs(steps + step) > MAX_PRESSES),
        onclick: () => press(reason, step, key),
      }, sign);
    };
    const pressed = steps ? ` (${steps > 0 ? "+" : ""}${steps})` : "";
    const said = make("span", {}, `${reason.share ?? ""} ${reason.label}${pressed}`);
    if (reason.tag === null) return make("li", {}, said);
    return make("li", {}, said, button(texts.less, "−", -1), button(texts.more, "+", 1));
  }

  function drawItem(item, texts) {
    const link = make("a", { href: item.link, onclick: () => open(item) }, item.title);
    const facts = [item.date, item.match].filter(Boolean).join(" · ");
    const reasons = item.reasons.map((reason) => drawReason(reason, item, texts));
    return make("li", {}, link, make("p", {}, facts),
      reasons.length ? make("ul", {}, ...reasons) : null);
  }

  function draw({ items, texts, language: found }, focus) {
    trouble.textContent = "";
    host.lang = found;
    heading.textContent = title ?? texts.title;
    const isNew = !state.viewed.length && !Object.keys(state.presses).length;
    list.replaceChildren(
      items.length ? make("ol", {}, ...items.map((item) => drawItem(item, texts)))
        : make("p", {}, texts.empty),
      ...(isNew ? [] : [make("button", { class: "again", type: "button", onclick: startAgain },
        texts.again)]),
    );
    if (focus === undefined) return;
    // The item may have left the list: another one with the same tag will do, or the heading.
    const tag = focus && JSON.parse(focus).slice(1).join();
    const buttons = [...list.querySelectorAll("[data-key]")];
    const same = buttons.find((each) => each.dataset.key === focus)
      ?? buttons.find((each) => JSON.parse(each.dataset.key).slice(1).join() === tag);
    (same ?? heading).focus();
  }

  const place = target && document.querySelector(target);
  if (place) place.append(host);
  else script.after(host);
  update();
})();
