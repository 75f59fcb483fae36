"""The commands of user studies: new, serve, simulate, replay, export, analyse."""

import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from teaser.cli import options as cli
from teaser.cli.output import err, print_lines, print_next, progress_bar
from teaser.cli.serve import Database, ServerOptions, check_packages
from teaser.errors import ParameterError

if TYPE_CHECKING:
    from teaser.userstudy.store import StudyStore

study = typer.Typer(no_args_is_help=True, help="Studies with people, from a file to a report.")
commands = typer.Typer()
commands.add_typer(study, name="study")

StudyFile = Annotated[Path, typer.Argument(help="A study that teaser study new wrote.")]
Mode = Literal["real", "pilot", "simulated"]
Who = Annotated[Mode, typer.Option("--mode", help="Whose data: real, pilot or simulated people.")]


@study.command("new")
@cli.expand_options
def new_file(path: Path) -> None:
    """Write a commented study, to be made your own.

    Parameters
    ----------
    path
        The file to write, such as study.toml.
    """
    check_packages()
    from teaser.userstudy.plan import new_study

    if path.exists():
        raise ParameterError(f"{path} is there already. Name another file.")
    path.write_text(new_study(), encoding="utf-8")
    model = path.with_name("events")
    print_lines([f"{path} was written. Its arms use the model {model}, which is made so:"])
    print_next(f"teaser demo --out {shlex.quote(str(model))}")
    print_next(f"teaser study serve {shlex.quote(str(path))} --pilot")


@study.command("serve")
@cli.expand_options
def serve_study(
    path: StudyFile,
    *,
    server: Annotated[ServerOptions, cli.OptionsOf(variables="TEASER_")],
    pilot: bool = False,
) -> None:
    """Serve the pages of a study. It is frozen when the first person takes part.

    Parameters
    ----------
    pilot
        Try it out: changes are allowed, the data are marked.
    """
    check_packages()
    from teaser.app.i18n.texts import texts_in
    from teaser.app.run import serve
    from teaser.userstudy.lists import open_catalogues, untranslated
    from teaser.userstudy.server import create_study_app

    mode: Mode = "pilot" if pilot else "real"
    with _opened(path, mode, server.database_url, make=True) as people:
        plan = people.study
    catalogues = open_catalogues(plan)  # what is wrong with an arm is told before a worker starts
    for language in plan.languages[1:]:
        print_lines(untranslated(plan, catalogues, texts_in(language)))
    del catalogues
    given = server.settings() | {"database_url": _url(path, mode, server.database_url)}
    settings = plan.site_settings(**given)

    def ready(host: str, port: int) -> None:
        site = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        said = "This is a pilot: its data are marked. " if pilot else ""
        asks = "?PROLIFIC_PID=test" if plan.recruited else ""
        print_lines([f"{site}{asks}", f"{said}Stop the server with Ctrl+C."])

    make_app = partial(create_study_app, path=path, mode=mode)
    serve(settings, workers=server.workers, ready=ready, make_app=make_app)


@study.command("simulate")
@cli.expand_options
def simulate_study(
    path: StudyFile,
    *,
    people: Annotated[int, typer.Option(min=1, help="How many simulated people.")] = 200,
    effect: float = 0.3,
    database: Database = "",
    seed: int = 0,
) -> None:
    """Let simulated people do a study by its pages, and tell the power of its plan.

    Parameters
    ----------
    effect
        The difference to plant, in standard deviations.
    seed
        Seed of what they choose and answer.
    """
    check_packages()
    from teaser.userstudy.analyse import power
    from teaser.userstudy.plan import UserStudy
    from teaser.userstudy.simulate import simulate_people

    url = _url(path, "simulated", database)
    with progress_bar(err, "simulated people") as update:
        simulate_people(
            path,
            people=people,
            effect=effect,
            database=url,
            seed=seed,
            progress=lambda n: update("simulated people", n / people),
        )
    plan = UserStudy.read(path)
    has, needed = power(plan, plan.people, effect)
    more = f"; with {needed} people it is 0.8" if needed else ""
    print_lines(
        [
            f"{people} simulated people came to the end. They are marked, in {url}.",
            f"With {plan.people} people, a planned difference of {effect:g} standard deviations is "
            f"found with a probability of {has:.2f}{more}.",
        ]
    )
    print_next(f"teaser study analyse {shlex.quote(str(path))} --mode simulated")


@study.command("replay")
def replay_study(path: StudyFile, *, database: Database = "", mode: Who = "real") -> None:
    """Make every list that was shown again, and compare; exit with code 1 if one differs."""
    check_packages()
    from teaser.userstudy.lists import replay

    with _opened(path, mode, database) as people:
        n_lists, differences = replay(people)
    print_lines([*differences, f"{n_lists:,} lists, {len(differences):,} differences."])
    if differences:
        raise typer.Exit(1)


@study.command("export")
@cli.expand_options
def export_study(
    path: StudyFile,
    *,
    folder: Path = Path("study-tables"),
    database: Database = "",
    mode: Who = "real",
    texts: bool = False,
) -> None:
    """Write the tables of a study as parquet and csv, with a codebook.

    Parameters
    ----------
    folder
        The folder to write.
    texts
        With what people wrote in their own words: read it first.
    """
    check_packages()
    from teaser.userstudy.export import read_tables, write_tables

    with _opened(path, mode, database) as people:
        tables = read_tables(people, with_texts=texts)
        print_lines([str(write_tables(tables, people.study, folder))])
    if tables.n_left_out:
        print_lines([f"{tables.n_left_out:,} people saw an earlier version, and are left out."])


@study.command("analyse")
@cli.expand_options
def analyse_study(
    path: StudyFile,
    *,
    folder: Path = Path("study-report"),
    database: Database = "",
    mode: Who = "real",
) -> None:
    """Write the report of a study: planned differences, all others, people, power.

    Parameters
    ----------
    folder
        The folder to write.
    """
    check_packages()
    from teaser.userstudy.analyse import analyse
    from teaser.userstudy.export import read_tables
    from teaser.userstudy.report import write_report

    with _opened(path, mode, database) as people:
        tables = read_tables(people)
        if not len(tables.people):
            raise ParameterError(
                f"Nobody took part in the study {people.study.name!r} as it is now ({mode} "
                "people). Look at another --mode or --database, or try teaser study simulate."
            )
        print_lines([str(write_report(analyse(people.study, tables), folder))])


@contextmanager
def _opened(path: Path, mode: Mode, database: str, *, make: bool = False) -> Iterator["StudyStore"]:
    """Open the people of a study, which must not have changed since the first one.

    With `make`, the database is brought up to date.
    """
    from teaser.app.store import Store
    from teaser.userstudy.plan import UserStudy
    from teaser.userstudy.store import StudyStore

    plan = UserStudy.read(path)
    with closing(Store(_url(path, mode, database))) as store:
        if make:
            store.migrate()
        people = StudyStore(store, plan, mode)
        people.check_frozen()
        yield people


def _url(path: Path, mode: Mode, database: str) -> str:
    """Return the address of the database: a file beside the study if none is given."""
    suffix = ".simulated.db" if mode == "simulated" else ".people.db"
    return database or f"sqlite:///{path.absolute().with_suffix(suffix)}"
