"""The picture of the parts of scores: general appeal, tags, viewed items."""

from teaser.evaluate.report.pictures import drawing
from teaser.evaluate.report.tables.number import format_percent
from teaser.evaluate.report.tables.reported import ReportedStudy
from teaser.evaluate.study.results import ModelResult

# Parts as they are stacked, with their names and colours: tags first, so that they can be compared.
_PARTS = {
    "declared": ("declared tags", 0),
    "discovered": ("discovered tags", 3),
    "viewed": ("viewed items", 1),
    "popularity": ("popularity", 5),
    "general": ("general appeal", 7),
}


def draw_parts(study: ReportedStudy) -> drawing.Picture | None:
    """Draw the share of each part in the scores of recommended items, a bar for each model."""
    models = [model for model in study.models if model.shares][::-1]
    if not models:
        return None
    figure = drawing.new_figure(1.1 + 0.3 * len(models))
    axes = figure.subplots()
    ends = [0.0] * len(models)
    handles = []
    for part, (name, number) in _PARTS.items():
        widths = [100 * model.shares.get(part, 0.0) for model in models]
        if not any(widths):
            continue
        handles.append(
            axes.barh(range(len(models)), widths, left=ends, height=0.62,
                color=drawing.SERIES[number], edgecolor=drawing.GROUND, linewidth=0.8, label=name)
        )  # fmt: skip
        ends = [end + width for end, width in zip(ends, widths, strict=True)]
    axes.set_yticks(range(len(models)), [study.labels[m.name] for m in models])
    for text in axes.get_yticklabels():
        text.set_color(drawing.INK)
    axes.set(xlim=(0, 100), xlabel="share of the scores of the first 20 items, %")
    drawing.simplify(axes, grid="x")
    drawing.legend_below(figure, handles, columns=3)
    return drawing.picture(
        figure,
        name=f"{study.key}-parts",
        title="Where scores come from",
        caption="Mean share of each part of a score, over the first 20 recommendations of all "
        "test users. General appeal is the same for everybody and no reason of anybody's own.",
        alt=" ".join(f"{study.labels[m.name]}: {_told(m)}." for m in models[::-1]),
    )


def _told(model: ModelResult) -> str:
    shares = ((name, model.shares.get(part, 0.0)) for part, (name, _) in _PARTS.items())
    return ", ".join(f"{name} {format_percent(share)}" for name, share in shares if share >= 0.005)
