"""The colours and shapes of outputs; those of the site, in light and dark."""

# The class of every output. It is named three times in the rules, so that they count more than
# those of notebooks for tables and lists.
ROOT = "teaser-out"

# Notebooks and documentation pages say by these marks whether they are light or dark; without
# any, the reader's system decides. Colours are set with their ground, so that they can be read
# whatever surrounds them.
_LIGHT = (
    '[data-jp-theme-light="true"]', ".vscode-light", ".vscode-high-contrast-light",
    '[theme="light"]', '[data-theme="light"]', '[data-md-color-scheme="default"]',
)  # fmt: skip
_DARK = (
    '[data-jp-theme-light="false"]', ".vscode-dark",
    ".vscode-high-contrast:not(.vscode-high-contrast-light)",
    '[theme="dark"]', '[data-theme="dark"]', '[data-md-color-scheme="slate"]',
)  # fmt: skip

_RULES = """
.ROOT.ROOT.ROOT {
  color-scheme: light dark;
  --card: light-dark(#ffffff, #191f27); --raised: light-dark(#f5f4ef, #222a34);
  --ink: light-dark(#18202c, #e9edf2); --soft: light-dark(#565f6d, #a7b1be);
  --line: light-dark(#e2dfd5, #2d3642); --edge: light-dark(#8b919b, #667080);
  --teal: light-dark(#0b6f66, #63cdbf); --teal-bar: light-dark(#12897d, #47b5a7);
  --orange: light-dark(#a3440a, #f3a866); --orange-bar: light-dark(#c25a17, #d98540);
  box-sizing: border-box; max-width: 62rem; margin: 4px 0; padding: 14px 18px;
  background: var(--card); color: var(--ink);
  border: 1px solid var(--line); border-radius: 12px; overflow-wrap: anywhere;
  container-type: inline-size;
  font: 14px/1.45 var(--jp-ui-font-family, var(--vscode-font-family, system-ui, sans-serif));
  p { margin: 0 0 8px; color: inherit; }
  .title { font-size: 1.1em; }
  .soft, caption { color: var(--soft); font-weight: 400; }
  .n { font-variant-numeric: tabular-nums; white-space: nowrap; text-align: right; }
  .up { color: var(--teal); } .down { color: var(--orange); }
  table { border-collapse: collapse; margin: 6px 0 10px; width: auto; max-width: 100%;
    font-size: inherit; border: 0; table-layout: auto; color: inherit; }
  caption { caption-side: top; text-align: left; padding: 2px 0 4px; font-size: 0.93em; }
  tr, tr:hover, tr:nth-child(odd), tr:nth-child(even) { background: none; }
  th, td { text-align: left; vertical-align: middle; padding: 3px 14px 3px 0; border: 0;
    max-width: 34em; white-space: normal; }
  tbody th { min-width: 7em; } tbody td:not(.n) { min-width: 4.5em; }
  th.n, td.n { text-align: right; }
  thead th { font-weight: 500; color: var(--soft); font-size: 0.93em; vertical-align: bottom; }
  tbody th { font-weight: 600; }
  tbody tr { border-top: 1px solid var(--line); }
  tfoot tr { border-top: 2px solid var(--edge); }
  tbody.group tr + tr { border-top: 0; }
  tbody.group tr + tr th { font-weight: 400; padding-left: 14px; }
  tr.chosen th::before { content: "● "; color: var(--teal); }
  ul, ol { margin: 4px 0 8px; padding-left: 1.4em; }
  li { margin: 0; }
  code { font-size: 0.93em; padding: 1px 5px; border-radius: 5px; border: 0;
    background: var(--raised); color: inherit; white-space: pre-wrap; overflow-wrap: anywhere; }
  details { margin: 4px 0; }
  summary { cursor: pointer; color: var(--soft); }
  svg { display: block; } svg.bar { height: 9px; background: var(--raised); border-radius: 3px; }
  rect.up { fill: var(--teal-bar); } rect.down { fill: var(--orange-bar); }
  rect.axis { fill: var(--edge); } rect.total, rect.quiet { fill: var(--soft); }
  ol.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(15.5rem, 1fr));
    gap: 12px; list-style: none; padding: 0; margin: 8px 0; counter-reset: place; }
  ol.cards > li { border: 1px solid var(--line); border-radius: 10px; padding: 10px 14px; }
  ol.cards > li { counter-increment: place; }
  ol.cards > li > p:first-child::before { content: counter(place) ". "; }
  ol.cards p { margin: 0 0 2px; }
  ul.reasons { list-style: none; padding: 6px 0 0; margin: 4px 0 0;
    border-top: 1px solid var(--line); }
  ul.reasons > li { display: grid; grid-template-columns: 3.2em minmax(0, 1fr); gap: 8px;
    align-items: baseline; padding: 1px 0; }
}
@container (max-width: 520px) { .ROOT.ROOT.ROOT .wide { display: none; } }
@media (forced-colors: active) {
  .ROOT.ROOT.ROOT { rect.up, rect.down, rect.total, rect.quiet, rect.axis { fill: CanvasText; } }
}
"""


def _scheme(marks: tuple[str, ...], name: str) -> str:
    """Return the rule that follows a host that says whether it is light or dark."""
    where = ", ".join(f"{mark} .ROOT.ROOT.ROOT" for mark in marks)
    return f"{where} {{ color-scheme: {name}; }}\n"


STYLE = (_RULES + _scheme(_LIGHT, "light") + _scheme(_DARK, "dark")).replace("ROOT", ROOT)
