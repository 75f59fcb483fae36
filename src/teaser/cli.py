"""The command line: parse, one library call, print. Results go to stdout, the rest to stderr."""

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from teaser import artifact, terminal
from teaser import demo as demonstration
from teaser._version import __version__
from teaser.data import events, sources
from teaser.data.dataset import Dataset
from teaser.errors import ParameterError, TeaserError
from teaser.explain import Reason
from teaser.model import load
from teaser.model.teaser import Teaser
from teaser.profile import Steering

out = Console()
err = Console(stderr=True)


class _Commands(TyperGroup):
    """Commands whose foreseen errors are one sentence and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (TeaserError, OSError) as error:
            err.print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True, highlight=False)
            raise typer.Exit(2) from error


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="A recommender that people can read and steer.",
)

Folder = Annotated[Path, typer.Argument(help="The folder that prepare or fit wrote.")]
ModelFolder = Annotated[Path, typer.Argument(help="A folder that fit wrote.")]
DataFolder = Annotated[Path, typer.Argument(help="A folder that prepare wrote.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print json for a program to read.")]
History = Annotated[
    list[str] | None,
    typer.Option(
        "--history", "-i", help="An item id that was viewed; repeat, or separate by commas."
    ),
]
Press = Annotated[
    list[str] | None,
    typer.Option("--press", "-p", help="Presses on a tag, as feature=value:+3; repeat."),
]
Scale = Annotated[str, typer.Option(help="How affinities are scaled: robust or paper.")]
L2Weights = Annotated[float, typer.Option(help="Penalty on item-to-item weights.")]
L2Encoder = Annotated[float, typer.Option(help="Penalty on the encoder.")]
ContentWeight = Annotated[float, typer.Option(help="How much shared tags count beside choices.")]
SolverName = Annotated[str, typer.Option(help="cg or admm.")]
GramName = Annotated[str, typer.Option(help="auto, dense or sparse.")]
Tol = Annotated[float, typer.Option(help="Relative residual to stop at.")]
MaxIter = Annotated[int, typer.Option(help="Iterations to give up after.")]
Dtype = Annotated[str, typer.Option(help="float32 or float64.")]
Seed = Annotated[int, typer.Option(help="Seed of whatever is drawn at random.")]


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        out.print(f"teaser {__version__}")
        raise typer.Exit


@app.command()
def prepare(
    tables: Annotated[
        list[Path] | None,
        typer.Argument(help="Interactions and items; or the folder of a public data set."),
    ] = None,
    *,
    folder: Out,
    source: Annotated[
        str | None, typer.Option(help="ml-1m, movielens, amazon, goodbooks, events, ... or auto.")
    ] = None,
    user: Annotated[str, typer.Option(help="Column of the user ids.")] = "user_id",
    item: Annotated[str, typer.Option(help="Column of the item ids.")] = "item_id",
    positive: Annotated[
        str | None, typer.Option(help="Which rows count, such as 'rating >= 4'.")
    ] = None,
    rules: Annotated[
        Path | None, typer.Option(help="TOML file of tag rules; inferred without it.")
    ] = None,
    imdb: Annotated[Path | None, typer.Option(help="Folder of IMDb tables, for movielens.")] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Turn interactions and metadata into a data set; report, and write the rules used."""
    given = tables or []
    if len(given) == 2 and source is None:
        with err.status("reading"):
            dataset = Dataset.from_tables(
                given[0], given[1], user=user, item=item, rules=rules, positive=positive
            )
    elif len(given) == 1 or source == "events":
        with err.status("reading"):
            dataset = _from_source(source or "auto", given, rules, positive, imdb, seed)
    else:
        raise ParameterError(
            f"Found {len(given)} paths. Name two files, interactions and items; or one folder of a "
            "public data set; or --source events."
        )
    dataset.save(folder)
    dataset.rules.write(folder / "rules.toml")
    if as_json:
        _print_json(dataset.describe())
        return
    for line in dataset.lines():
        out.print(line, highlight=False, soft_wrap=True)
    if rules is None:
        out.print(f"\n[bold]The rules[/], also in {folder / 'rules.toml'}:\n", soft_wrap=True)
        out.print(dataset.rules.to_toml(), markup=False, highlight=False, soft_wrap=True)
    out.print(f"Next: teaser fit {folder} --out MODEL", soft_wrap=True, highlight=False)


@app.command()
def fit(
    dataset: DataFolder,
    *,
    folder: Out,
    l2_weights: L2Weights = 200.0,
    l2_encoder: L2Encoder = 500.0,
    content_weight: ContentWeight = 0.0,
    solver: SolverName = "cg",
    gram: GramName = "auto",
    tol: Tol = 1e-3,
    max_iter: MaxIter = 200,
    dtype: Dtype = "float32",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Fit a model to a data set, after saying what it will take."""
    data = Dataset.load(dataset)
    model = Teaser(
        l2_weights=l2_weights,
        l2_encoder=l2_encoder,
        content_weight=content_weight,
        solver=solver,
        gram=gram,
        tol=tol,
        max_iter=max_iter,
        dtype=dtype,
        rng=seed,
    )
    terminal.fit_visibly(model, data, err)
    model.save(folder)
    if as_json:
        _print_json(model.describe())
        return
    out.print(f"{model.iterations_} iterations, residual {model.residual_:.1e}", highlight=False)
    out.print(f"Next: teaser recommend {folder} --history ITEM", soft_wrap=True, highlight=False)


@app.command()
def estimate(
    dataset: DataFolder,
    *,
    solver: SolverName = "cg",
    gram: GramName = "auto",
    tol: Tol = 1e-3,
    dtype: Dtype = "float32",
    as_json: AsJson = False,
) -> None:
    """Say what a fit will take in memory and time, without doing it."""
    data = Dataset.load(dataset)
    expected = Teaser(solver=solver, gram=gram, tol=tol, dtype=dtype).estimate(data)
    if as_json:
        _print_json({**asdict(expected), "total_memory": expected.total_memory})
        return
    for line in expected.lines():
        out.print(line, highlight=False, soft_wrap=True)


@app.command()
def profile(
    model: ModelFolder,
    *,
    history: History = None,
    press: Press = None,
    top: Annotated[int, typer.Option(min=1, help="How many tags of each feature.")] = 4,
    scale: Scale = "robust",
    as_json: AsJson = False,
) -> None:
    """Show what the model believes of a person: impacts of features, affinities with tags."""
    fitted = load(model)
    seen, presses = _ids(fitted, history), _presses(press)
    found = fitted.profile(seen, presses, steering=Steering(scale=scale))
    if as_json:
        _print_json(
            {
                "history": found.history,
                "presses": {str(tag): n for tag, n in found.presses.items()},
                "certainty": found.certainty,
                "impacts": found.impacts,
                "affinities": {str(tag): a for tag, a in found.affinities.items()},
            }
        )
        return
    out.print(terminal.draw_profile(found, per_feature=top))


@app.command()
def recommend(
    model: ModelFolder,
    *,
    history: History = None,
    press: Press = None,
    k: Annotated[int, typer.Option("-k", help="How many items.")] = 10,
    with_history: Annotated[bool, typer.Option(help="Also recommend what was viewed.")] = False,
    negative: Annotated[bool, typer.Option(help="Also show reasons against.")] = True,
    scale: Scale = "robust",
    as_json: AsJson = False,
) -> None:
    """List the best items for a person, each with its signed reasons."""
    fitted = load(model)
    found = fitted.recommend(
        _ids(fitted, history),
        _presses(press),
        k=k,
        exclude_history=not with_history,
        negative_reasons=negative,
        steering=Steering(scale=scale),
    )
    if as_json:
        _print_json([{**asdict(r), "reasons": [_reason(x) for x in r.reasons]} for r in found])
        return
    out.print(terminal.draw_recommendations(found))


@app.command()
def explain(
    model: ModelFolder,
    item: Annotated[str | None, typer.Argument(help="The item to explain.")] = None,
    *,
    tag: Annotated[
        str | None, typer.Option(help="Explain the affinity with this tag (feature=value) instead.")
    ] = None,
    history: History = None,
    press: Press = None,
    scale: Scale = "robust",
    as_json: AsJson = False,
) -> None:
    """Show the whole score of an item, or with --tag where an affinity comes from."""
    if (item is None) == (tag is None):
        raise ParameterError("Name either an item or --tag, to say what is to be explained.")
    fitted = load(model)
    seen = _ids(fitted, history)
    if tag is not None:
        origins = fitted.origins(tag, seen)
        if as_json:
            _print_json([{"item_id": name, "part": part} for name, part in origins.items()])
            return
        titles = {name: fitted.title(fitted.items_.index_of(name)) for name in origins}
        out.print(terminal.draw_origins(origins, {n: t for n, t in titles.items() if t}))
        return
    found = fitted.explain(str(item), seen, _presses(press), steering=Steering(scale=scale))
    if as_json:
        reasons = [_reason(r) for r in found.reasons]
        _print_json(
            {
                "item_id": found.item_id,
                "title": found.title,
                "score": found.score,
                "match": found.match,
                "reasons": reasons,
            }
        )
        return
    out.print(f"[bold]{escape(found.title or str(found.item_id))}[/]", highlight=False)
    out.print(terminal.draw_explanation(found))
    for sentence in found.sentences()[:5]:
        out.print(f"  {sentence}", highlight=False, markup=False)


@app.command()
def info(
    folder: Folder,
    *,
    find: Annotated[
        str | None, typer.Option(help="List items and tags that hold this text.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a folder holds; with --find, look up items and tags by name."""
    if artifact.read_manifest(folder)["kind"] == "dataset":
        data = Dataset.load(folder)
        about, items, tags = data.describe(), data.table, data.tags
        title = data.rules.roles.get("title")
    else:
        fitted = load(folder)
        about, items, tags = fitted.describe(), fitted.table_, fitted.tags_
        title = fitted.rules_.roles.get("title")
    if find is not None:
        names = items.to_series(0).cast(str).to_list()
        titles = items[title].cast(str).to_list() if title else names
        wanted = find.casefold()
        about = {
            "items": {
                n: t for n, t in zip(names, titles, strict=True) if wanted in f"{n} {t}".casefold()
            },
            "tags": [str(t) for t in tags if wanted in str(t).casefold()],
        }
    if as_json:
        _print_json(about)
        return
    for name, value in about.items():
        shown = value if isinstance(value, dict | list) else [value]
        pairs = shown.items() if isinstance(shown, dict) else [("", v) for v in shown]
        out.print(f"[bold]{name}[/]")
        for key, entry in pairs:
            out.print(
                f"  {key}{'  ' if key else ''}{entry}",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )


@app.command()
def demo(
    *,
    folder: Annotated[Path | None, typer.Option("--out", "-o", help="Keep the model here.")] = None,
    seed: Seed = 0,
) -> None:
    """Prepare the built-in events, fit, and show a profile that is read and steered."""
    model = demonstration.run(out, err, seed=seed)
    if folder is not None:
        model.save(folder)
        out.print(
            f"\nThe model is in {folder}: try teaser info {folder} --find Ghent", soft_wrap=True
        )


def main() -> None:
    """Run the command line."""
    app()


def _from_source(
    name: str,
    paths: list[Path],
    rules: Path | None,
    positive: str | None,
    imdb: Path | None,
    seed: int,
) -> Dataset:
    if name == "events":
        if paths:
            raise ParameterError("The events are generated; --source events takes no path.")
        return events.dataset(seed=seed, rules=rules)
    if name == "auto":
        name = sources.detect(paths[0])
        err.print(f"{paths[0]} holds {name}", highlight=False, soft_wrap=True)
    options = {} if imdb is None else {"imdb": imdb}
    found = sources.read_source(name, paths[0], **options)
    return Dataset.from_tables(
        found.interactions,
        found.items,
        user=found.user,
        item=found.item,
        rules=found.rules if rules is None else rules,
        positive=positive or found.positive,
    )


def _ids(model: Teaser, given: list[str] | None) -> list[str]:
    """Return item ids; a text with commas that is no id itself is a list of them."""
    found = []
    for text in given or []:
        found += (
            [text] if text in model.items_ else [part for part in text.split(",") if part.strip()]
        )
    return [text.strip() for text in found]


def _presses(given: list[str] | None) -> dict[str, int]:
    """Read presses written as feature=value:+3, or feature=value for one press of +."""
    presses: dict[str, int] = {}
    for text in given or []:
        written = re.fullmatch(r"(.+):([+-]?\d+)", text)
        tag, steps = (written[1], int(written[2])) if written else (text, 1)
        presses[tag] = presses.get(tag, 0) + steps
    return presses


def _reason(reason: Reason) -> dict[str, Any]:
    return {**asdict(reason), "sentence": reason.sentence()}


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n")
