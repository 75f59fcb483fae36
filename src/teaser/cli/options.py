"""Options of the commands: those that several share, and those that are read from constructors."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from datetime import date
from functools import cached_property, wraps
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast, get_args, get_origin, get_type_hints

import typer
from rich.markup import escape
from typer.models import OptionInfo, ParameterInfo

from teaser.data.dataset import Dataset
from teaser.data.matrix import Ids, ItemId
from teaser.errors import ParameterError, UnknownNameError, closest_names
from teaser.model.base import Model
from teaser.model.filters import parse_boosts
from teaser.model.tables import History as ItemHistory
from teaser.model.teaser import Teaser
from teaser.parameters import build_options, options_of

Folder = Annotated[Path, typer.Argument(help="A folder that prepare or fit wrote.")]
ModelFolder = Annotated[Path, typer.Argument(help="A folder that fit wrote.")]
DataFolder = Annotated[Path, typer.Argument(help="A folder that prepare wrote.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Boost = Annotated[
    list[str] | None,
    typer.Option(
        help="What is added to the score of an item or of a tag's items, as ID_OR_TAG:0.2; repeat."
    ),
]
Unknown = Annotated[
    Literal["raise", "ignore"],
    typer.Option(help="What to do with ids and tags that the model does not have."),
]
Scale = Annotated[str, typer.Option(help="How affinities are scaled: robust or paper.")]
Balance = Annotated[
    float,
    typer.Option(help="With a remainder: 0 for tags alone, 1 for viewed items alone."),
]
Seed = Annotated[int, typer.Option(help="Seed of the random numbers.")]
Scheduler = Annotated[
    str | None,
    typer.Option(help="Address of a Dask scheduler, for partitions.", rich_help_panel="Running"),
]
LocalCluster = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Start a local Dask cluster of this many processes, for partitions.",
        rich_help_panel="Running",
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        help="Memory limit of a fit of partitions on this machine, such as 2GB.",
        rich_help_panel="Running",
    ),
]


@dataclass(frozen=True)
class OptionsOf:
    """Marks a parameter of a command that is an object made from options.

    A command with `model: Annotated[Teaser, OptionsOf()]` has an option for each parameter of
    `Teaser`, with its default and the first sentence of its documentation, and receives the
    object. `expand_options` does the work.

    Parameters
    ----------
    panels
        Titles in the help, and the parameters listed under each. An options object of an
        extension is listed under "Extensions", any other parameter under "Options".
    variables
        What the names of environment variables begin with that set parameters, or "" for none.
    """

    panels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    variables: str = ""


ModelOptions = Annotated[
    Teaser,
    OptionsOf(
        {
            "Penalties": ("l2_weights", "l2_encoder"),
            "Extensions": ("user_features",),
            "Solver": ("solver", "gram", "tol", "max_iter", "dtype", "rng"),
            "Running": ("device",),
        }
    ),
]

# Options whose names are not those of their parameters: the library also takes generators.
FLAGS = {
    "rng": ("--seed",),
    "folder": ("--out", "-o"),
    "path": ("--out", "-o"),
    "every": ("--all",),
    "history": ("--history", "-i"),
    "press": ("--press", "-p"),
    "k": ("--k", "-k"),
    "database_url": ("--database",),
    "hosts": ("--host-name",),
}
_PLAIN_TYPES = (bool, int, float, str, Path)


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command its options, with help from its docstring, and those of its objects.

    Each parameter marked with `OptionsOf` is replaced by one option for every parameter of its
    class. Parameters of an options object, such as `remainder: Remainder | None`, become
    `--remainder`, `--remainder-l2` and so on; any of them switches the extension on.
    """
    hints, texts = get_type_hints(command, include_extras=True), parameter_texts(command)
    shown: list[inspect.Parameter] = []
    objects: dict[str, tuple[type[Any], list[str]]] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        hint = hints[name]
        marks = [m for m in getattr(hint, "__metadata__", ()) if isinstance(m, OptionsOf)]
        if marks:
            kind = get_args(hint)[0]
            read = list(_read_options(kind, marks[0]))
            objects[name] = kind, [option.name for option in read]
            shown += read
            continue
        written = [m for m in getattr(hint, "__metadata__", ()) if isinstance(m, ParameterInfo)]
        if name in texts and written:
            written[0].help = texts[name]
        elif name in texts:
            info: Any = typer.Argument(help=texts[name])
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                flags = _flags(name, parameter.default, texts[name])
                info = typer.Option(*flags, help=texts[name])
            hint = Annotated[hint, info]
        shown.append(parameter.replace(annotation=hint))

    @wraps(command)
    def run(**given: Any) -> None:
        for name, (kind, taken) in objects.items():
            given[name] = build(kind, {option: given.pop(option) for option in taken})
        command(**given)

    run.__dict__["__signature__"] = inspect.Signature(shown)
    run.__doc__ = (inspect.getdoc(command) or "").partition("\n\nParameters\n")[0]
    return run


def build(kind: type[Any], given: Mapping[str, Any]) -> Any:
    """Return the object that these options describe."""
    arguments: dict[str, Any] = {}
    for name, parameter in _parameters(kind).items():
        extension = _extension(parameter.annotation)
        if extension is None:
            arguments[name] = _read_word(name, given[name], parameter)
            continue
        entries = {
            entry: _read_entry(f"{name}_{entry}", given[f"{name}_{entry}"], its)
            for entry, its in _parameters(extension).items()
            if given[f"{name}_{entry}"] is not None
        }
        arguments[name] = (
            build_options(name, extension, entries) if entries or given[name] else None
        )
    return kind(**arguments)


def _read_options(kind: type[Any], mark: OptionsOf) -> Iterator[inspect.Parameter]:
    """Yield an option for each parameter of a class, and for each entry of an options object."""
    texts = {n: t for base in reversed(kind.__mro__) for n, t in parameter_texts(base).items()}
    panels = {name: title for title, names in mark.panels.items() for name in names}
    for name, parameter in _parameters(kind).items():
        extension = _extension(parameter.annotation)
        if extension is None:
            marks = getattr(parameter.annotation, "__metadata__", ())
            if any(isinstance(mark, OptionInfo) for mark in marks):  # such as that of `Scheduler`
                yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
                continue
            how: dict[str, Any] = {"help": texts.get(name), "rich_help_panel": panels.get(name)}
            kind_of = _plain_type(parameter)
            if mark.variables and get_origin(kind_of) is not list:
                how["envvar"] = f"{mark.variables}{name.upper()}"
            flags = _flags(name, parameter.default, texts.get(name, ""))
            info = typer.Option(*flags, **how)
            yield _option(name, kind_of, parameter.default, info)
            continue
        how = {"rich_help_panel": panels.get(name, "Extensions")}
        flag = f"--{name.replace('_', '-')}"
        text = f"{texts.get(name)} Any of its options switches it on."
        switch = typer.Option(flag, help=text, **how)
        yield _option(name, bool, False, switch)
        texts_of_entries = parameter_texts(extension)
        for entry, its in _parameters(extension).items():
            # None means that the entry was not given; the help shows its default.
            shown = its.default
            if isinstance(shown, tuple):
                shown = ",".join(each if isinstance(each, str) else f"{each:g}" for each in shown)
                shown = shown or "none"
            default = "" if shown is None else f" [dim]{escape(f'[default: {shown}]')}[/]"
            how |= {"help": f"{texts_of_entries[entry]}{default}"}
            yield _option(f"{name}_{entry}", _plain_type(its), None, typer.Option(**how))


def _flags(name: str, default: object, text: str) -> tuple[str, ...]:
    """Return what an option is called; one that says whether can be said no to as well."""
    is_switch = default is False and not text.startswith("Whether")
    return FLAGS.get(name, (f"--{name.replace('_', '-')}",) if is_switch else ())


def _option(name: str, kind: type[Any], default: object, info: OptionInfo) -> inspect.Parameter:
    annotation: Any = Annotated[kind | None if default is None else kind, info]
    how = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, how, default=default, annotation=annotation)


def _parameters(kind: type[Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(kind, eval_str=True).parameters


def _extension(annotation: Any) -> type[Any] | None:
    """Return the class of an options object, for a parameter such as `Remainder | None`."""
    kinds = (kind for kind in get_args(annotation) if isinstance(kind, type))
    return next((kind for kind in kinds if is_dataclass(kind)), None)


def _read_entry(name: str, value: Any, parameter: inspect.Parameter) -> Any:
    """Return the value of an entry: several are written with commas, 100,20 or title,text."""
    if get_origin(parameter.annotation) is not tuple:
        return value
    if str in get_args(parameter.annotation):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    numbers = [_read_number(name, part, "numbers with commas between") for part in value.split(",")]
    return tuple(int(n) if n.is_integer() else n for n in numbers)


def _words(parameter: inspect.Parameter) -> tuple[str, ...]:
    """Return the words that may stand in place of a number, as `settled` for `tol`."""
    kinds = get_args(parameter.annotation)
    return tuple(w for kind in kinds if get_origin(kind) is Literal for w in get_args(kind))


def _read_word(name: str, value: Any, parameter: inspect.Parameter) -> Any:
    """Return a number, or the word in its place."""
    words = _words(parameter)
    if not words or value is None or value in words:
        return value
    return _read_number(name, value, f"a number or {' or '.join(words)}")


def _read_number(name: str, text: str, wanted: str) -> float:
    try:
        return float(text)
    except ValueError:
        flag = name.replace("_", "-")
        raise ParameterError(f"--{flag} takes {wanted}, found {text!r}.") from None


def _plain_type(parameter: inspect.Parameter) -> type[Any]:
    """Return the type that a command line can read: `int` for `int | Generator | None`."""
    found = parameter.annotation
    if get_origin(found) is tuple or _words(parameter):
        return str
    if hasattr(found, "__metadata__"):
        found = get_args(found)[0]
    choices = [t for t in get_args(found) or (found,) if t in _PLAIN_TYPES or get_origin(t) is list]
    return choices[0] if choices else type(parameter.default)


def parameter_texts(kind: Callable[..., Any]) -> dict[str, str]:
    """Return the first sentence on each parameter, from a class's NumPy docstring."""
    found: dict[str, str] = {}
    _, _, section = (inspect.getdoc(kind) or "").partition("Parameters\n----------\n")
    section = re.split(r"\n\n\w+\n-+\n", section)[0]
    for entry in re.split(r"\n(?=\S)", section):
        names, _, text = entry.partition("\n")
        sentence = _first_sentence(" ".join(text.split()))
        found |= {name.strip(): sentence for name in names.partition(":")[0].split(",")}
    return found


def _first_sentence(text: str) -> str:
    """Return the first sentence, in the words of a command line instead of Python's."""
    sentence = re.split(r"(?<=\.)\s+(?=[A-Z`])", text)[0]
    # "`Remainder(l2=...)` adds weights" describes the object: say "Adds weights".
    bare = re.sub(r"^`\w+\(.*?\)` ", "", sentence)
    if bare != sentence:
        bare = bare[:1].upper() + bare[1:]
    return escape(re.sub(r'`"?|"?`', "", bare))


def given_parameters(context: typer.Context, model: Teaser) -> dict[str, Any]:
    """Return the hyper-parameters of a model that were given on the command line."""
    given = [
        name
        for name in context.params
        if getattr(context.get_parameter_source(name), "name", "DEFAULT") != "DEFAULT"
    ]
    options = options_of(type(model))
    return {
        name: value
        for name, value in model.parameters().items()
        if name in given or (name in options and any(g.startswith(f"{name}_") for g in given))
    }


def refuse_unused(what: str, **options: object) -> None:
    """Raise `ParameterError` for an option that was given and has no effect."""
    for name, value in options.items():
        if value is not None:
            flag = name.replace("_", "-")
            raise ParameterError(f"--{flag} does not go with {what}. Leave it out.")


_NAMED = 3
_LISTED = 5


@dataclass(frozen=True)
class ItemNames:
    """Finds items by their ids, or by their titles in any case.

    Parameters
    ----------
    ids
        The ids of the items.
    all_titles
        Returns the title of each, or None; it is called if a name is no id.
    """

    ids: Ids
    all_titles: Callable[[], Sequence[str | None]]

    @classmethod
    def of(cls, model: Model) -> Self:
        """Return the names of a model's items."""
        return cls(model.items_, lambda: [model.title(i) for i in range(len(model.items_))])

    @cached_property
    def _titled(self) -> dict[str, list[int]]:
        """The positions of the items of each title, which has no capitals here."""
        found: dict[str, list[int]] = {}
        for place, title in enumerate(self.all_titles()):
            if title:
                found.setdefault(title.strip().casefold(), []).append(place)
        return found

    def __contains__(self, text: str) -> bool:
        """Return whether a text is an id or a title."""
        return text in self.ids or text.strip().casefold() in self._titled

    def item_id(self, text: str, unknown: str = "raise") -> ItemId:
        """Return the id of a name; with `unknown="ignore"`, one that is not known as it is.

        Raises
        ------
        UnknownNameError
            If no item has this id or title.
        ParameterError
            If several items have this title.
        """
        place = self.ids.find(text)
        if place is not None:
            return cast("ItemId", self.ids[place])
        places = self._titled.get(text.strip().casefold(), [])
        if len(places) > 1:
            some = ", ".join(str(self.ids[each]) for each in places[:_LISTED])
            more = f" and {len(places) - _LISTED:,} more" if len(places) > _LISTED else ""
            raise ParameterError(
                f"{len(places):,} items have the title {text!r}. Give the id of one: {some}{more}."
            )
        if places:
            return cast("ItemId", self.ids[places[0]])
        if unknown == "ignore":
            return text
        raise self._unknown(text)

    def _unknown(self, text: str) -> UnknownNameError:
        """Return the error of an unknown name, with titles that have its words or resemble it."""
        plain, wanted = self.ids.unknown("item", text), text.strip().casefold()
        within = sorted((title for title in self._titled if wanted and wanted in title), key=len)
        near = within[:_NAMED] or closest_names(wanted, self._titled, n=_NAMED)
        if not near:
            return plain
        titles, places = self.all_titles(), [self._titled[title][0] for title in near]
        named = [f"{titles[place]} ({self.ids[place]})" for place in places]
        message = "Unknown item {name!r}; none of the {n:,} items has this id or title."
        return UnknownNameError("item", text, (*named, *plain.closest), message, n=len(self.ids))


def read_history(
    names: ItemNames, given: list[str] | None, unknown: str = "raise"
) -> list[ItemId] | dict[ItemId, float]:
    """Return the ids of items that are named by id or title, by strength where one is given.

    A strength is written as id:0.5. A text with commas that is no name itself is a list.
    """
    found = []
    for text in given or []:
        is_one = _read_strength(names, text)[0] in names  # a title may have commas itself
        found += [text] if is_one else [part for part in text.split(",") if part.strip()]
    placed = [
        (names.item_id(name, unknown), strength)
        for name, strength in (_read_strength(names, text.strip()) for text in found)
    ]
    if all(strength is None for _, strength in placed):
        return [item for item, _ in placed]
    return {item: 1.0 if strength is None else strength for item, strength in placed}


def _read_strength(names: ItemNames, text: str) -> tuple[str, float | None]:
    """Return a name and the strength after its last colon, if the whole text is no name."""
    written = re.fullmatch(r"(.+):([+-]?(?:\d+\.?\d*|\.\d+))", text)
    if written is None or text in names:
        return text, None
    return written[1].strip(), float(written[2])


def read_presses(given: list[str] | None) -> dict[str, int]:
    """Return steps by tag, from TAG:+3, or TAG for one press of +."""
    presses: dict[str, int] = {}
    for text in given or []:
        written = re.fullmatch(r"(.+):([+-]\d+)", text)
        tag, steps = (written[1], int(written[2])) if written else (text, 1)
        presses[tag] = presses.get(tag, 0) + steps
    return presses


def read_date(option: str, text: str | None) -> date | None:
    """Return the day of an option; None if it was not given."""
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise ParameterError(
            f"--{option} must be a date such as 2026-01-31, found {text!r}."
        ) from None


def read_boosts(model: Model, given: list[str] | None) -> dict[ItemId, float] | None:
    """Return what is added by id or tag, from ID_OR_TAG:0.2; a title that is no tag is an item."""
    if not given:
        return None
    names = ItemNames.of(model)
    tags = {
        text.casefold() for tag in getattr(model, "tags_", ()) for text in (tag.value, str(tag))
    }
    others = {*tags, *(column.casefold() for column in model.table_.columns)}
    return {
        names.item_id(name) if name.casefold() not in others and name in names else name: added
        for name, added in parse_boosts(given).items()
    }


@dataclass(frozen=True)
class Person:
    """A history that is given, or that of a user of a data set; and what the person said.

    Parameters
    ----------
    history
        A viewed item, by id or title; repeat, or separate by commas; with a strength as id:0.5,
        which is below 0 for a disliked item.
    press
        Presses on a tag, as feature=value:+3; +1 by default; the feature may be left out where one
        tag has the value, as in 'general appeal:-3'; repeat.
    about
        A fact about the person, as feature=value; repeat.
    user
        Take the history of this user of the data set instead.
    data
        The data set of --user; that of the fit if not given.
    """

    history: list[str] | None = None
    user: str | None = None
    data: Path | None = None
    press: list[str] | None = None
    about: list[str] | None = None

    def viewed(self, model: Model, folder: Path, unknown: str = "raise") -> ItemHistory:
        """Return the history.

        Parameters
        ----------
        model, folder
            The model, and the folder that it was read from.
        unknown
            `"ignore"` keeps names that are not known as they are.
        """
        if self.user is None:
            if self.data is not None:
                raise ParameterError("--data is the data set of --user. Give --user too.")
            return read_history(ItemNames.of(model), self.history, unknown)
        if self.history is not None:
            raise ParameterError("Give --history or --user, not both.")
        place = find_dataset(folder, model, self.data, "--data DATA")
        return Dataset.load(place).history(self.user)


def find_dataset(folder: Path, model: Model, given: Path | None, how: str) -> Path:
    """Return the folder of the data set: the one given, or that of the fit.

    Parameters
    ----------
    folder, model
        The model, and the folder that it was read from.
    how
        How to name a data set, for the error.
    """
    if given is not None:
        return given
    kept = getattr(model, "dataset_path_", None)
    if kept is None or not Path(kept).exists():
        where = "does not say which" if kept is None else f"was fitted to {kept}, which is gone"
        raise ParameterError(f"Name the data set, as {how}: {folder} {where}.")
    return Path(kept)
