"""The picture of convergence: residuals of solvers by iteration and second."""

from teaser.evaluate.report.pictures import drawing
from teaser.evaluate.report.tables.reported import ReportedStudy

_NAMES = {"cg": "conjugate gradients", "admm": "the paper's ADMM"}


def draw_convergence(study: ReportedStudy) -> drawing.Picture | None:
    """Draw the residual of each solver by iteration and by second."""
    runs = [run for run in study.results.convergence if run.residuals]
    if not runs:
        return None
    figure = drawing.new_figure(2.9)
    left, right = figure.subplots(1, 2, sharey=True)
    lines = []
    for run, place, dash in zip(runs, (0, 1, 2, 3), ("-", "--", "-.", ":"), strict=False):
        name = _NAMES.get(run.solver, run.solver)
        count = range(1, len(run.residuals) + 1)
        look = {"color": drawing.SERIES[place], "linestyle": dash, "marker": "o", "markersize": 3}
        lines += left.plot(count, run.residuals, label=name, **look)
        right.plot(run.seconds, run.residuals, **look)
    left.set_yscale("log")
    left.set_xlabel("iteration")
    right.set_xlabel("seconds")
    left.set_ylabel("relative residual")
    for axes in (left, right):
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", nbins=5, integer=axes is left)
        axes.minorticks_off()
        drawing.simplify(axes)
    drawing.legend_below(figure, lines, columns=2)
    ends = "; ".join(
        f"{_NAMES.get(run.solver, run.solver)} reaches {run.residuals[-1]:.1g} after "
        f"{len(run.residuals)} iterations and {run.seconds[-1]:.2g} seconds"
        for run in runs
    )
    return drawing.picture(
        figure,
        name=f"{study.key}-convergence",
        title="Convergence",
        caption="Residual of the equation while the chosen TEASER is fitted, relative to its "
        "right-hand side. Seconds count from the start of the fit, preparation included.",
        alt=f"Convergence: {ends}.",
    )
