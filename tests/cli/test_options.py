"""Options that commands share, and options read from constructors."""

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest
import typer
from typer.models import ParameterInfo
from typer.testing import CliRunner, Result

from teaser import Teaser
from teaser.cli import fit, options
from teaser.cli.options import OptionsOf, build, expand_options, parameter_texts, refuse_unused
from teaser.errors import ParameterError
from teaser.extensions import DiscoveredTags, LearnedDecoder, Remainder, SparseEncoder


@dataclass(frozen=True)
class Sauce:
    """Options of a sauce.

    Parameters
    ----------
    heat
        How hot it is. From 0 to 10.
    is_smooth
        Whether it is sieved.
    """

    heat: int = 3
    is_smooth: bool = False


class Dish:
    """Something to eat.

    Parameters
    ----------
    name : str
        What the menu says, such as `"soup"`: long
        or short. It is not checked.
    sauce
        `Sauce(heat=...)` pours a sauce over it. None, the default, leaves it dry.
    rng
        Seed of the garnish.
    is_warm
        Whether it is heated.

    Attributes
    ----------
    eaten_
        Not a parameter.
    """

    def __init__(
        self,
        *,
        name: Any = "soup",
        sauce: Sauce | None = None,
        rng: int | list[int] | None = 0,
        is_warm: bool = True,
        weight: Annotated[float | None, typer.Option(help="In grams.", min=0)] = None,
    ) -> None:
        self.parameters = (name, sauce, rng, is_warm, weight)


def serve(*words: str) -> tuple[Result, list[tuple[Any, ...]]]:
    """Run a command that takes a dish; return how it ended, and what it received."""
    app, received = typer.Typer(), []

    @app.command()
    @expand_options
    def plate(
        table: int, *, dish: Annotated[Dish, OptionsOf({"Looks": ("name",)})], tip: int = 0
    ) -> None:
        """Bring a dish to a table."""
        received.append((table, tip, *dish.parameters))

    return CliRunner().invoke(app, words, env={"COLUMNS": "120"}), received


def test_a_command_receives_the_object() -> None:
    assert serve("4")[1] == [(4, 0, "soup", None, 0, True, None)]
    words = ("4", "--name", "pasta", "--seed", "7", "--no-is-warm", "--weight", "80", "--tip", "2")
    assert serve(*words)[1] == [(4, 2, "pasta", None, 7, False, 80.0)]


def test_several_numbers_are_written_with_commas() -> None:
    given = dict.fromkeys(inspect.signature(fit.fit).parameters)
    plain = {**given, "discovered_grains": "100, 7.5", "discovered_names": "groups.toml"}
    wanted = DiscoveredTags(grains=(100, 7.5), names="groups.toml")
    assert build(Teaser, plain).discovered == wanted
    assert build(Teaser, {**given, "discovered": True}).discovered == DiscoveredTags()
    for wrong in ("100;20", "many", "100,"):
        with pytest.raises(ParameterError, match=f"--discovered-grains .* found '{wrong}'"):
            build(Teaser, {**given, "discovered_grains": wrong})
    app = typer.Typer()
    app.command()(fit.fit)
    said = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    assert "default: 20,5" in said


def test_a_word_may_stand_in_place_of_a_number() -> None:
    given = dict.fromkeys(inspect.signature(fit.fit).parameters)
    assert build(Teaser, {**given, "tol": "settled"}).tol == "settled"
    assert build(Teaser, {**given, "tol": "1e-2"}).tol == 0.01
    with pytest.raises(ParameterError, match="--tol takes a number or settled, found 'soon'"):
        build(Teaser, {**given, "tol": "soon"})


def test_an_extension_is_on_if_it_or_one_of_its_options_is_given() -> None:
    assert serve("4", "--sauce")[1][0][3] == Sauce()
    assert serve("4", "--sauce-heat", "0")[1][0][3] == Sauce(heat=0)
    assert serve("4", "--sauce", "--sauce-is-smooth")[1][0][3] == Sauce(is_smooth=True)


def test_values_of_another_type_are_refused() -> None:
    for words in (("--seed", "x"), ("--sauce-heat", "1.5"), ("--weight", "-1"), ("--rng", "1")):
        result, received = serve("4", *words)
        assert result.exit_code == 2
        assert received == []


def test_the_help_has_texts_defaults_and_panels() -> None:
    text = serve("--help")[0].output
    assert "Bring a dish to a table." in text
    assert "What the menu says, such as soup: long or short. [default: soup]" in text
    assert "Pours a sauce over it." in text
    assert "How hot it is. Switches --sauce on. [default: 3]" in text
    assert "In grams." in text
    panels = [line.split("─ ")[1].split(" ─")[0] for line in text.splitlines() if "╭" in line]
    assert panels == ["Arguments", "Options", "Looks", "Extensions"]


def test_texts_are_first_sentences_of_the_parameters() -> None:
    assert parameter_texts(Sauce) == {
        "heat": "How hot it is.",
        "is_smooth": "Whether it is sieved.",
    }
    assert set(parameter_texts(Dish)) == {"name", "sauce", "rng", "is_warm"}


def test_fit_and_estimate_have_every_parameter_of_the_model() -> None:
    wanted = set(inspect.signature(Teaser).parameters)
    for extension, kind in (
        ("remainder", Remainder),
        ("decoder", LearnedDecoder),
        ("sparse", SparseEncoder),
    ):
        wanted |= {f"{extension}_{entry}" for entry in inspect.signature(kind).parameters}
    for command in (fit.fit, fit.estimate):
        found = inspect.signature(command).parameters
        assert wanted <= set(found)
        for name in wanted:
            _, info = get_args(found[name].annotation)
            assert info.help, name
            assert info.rich_help_panel, name


def test_without_options_the_model_is_the_default_one() -> None:
    parameters = inspect.signature(fit.estimate).parameters
    given = {
        name: p.default for name, p in parameters.items() if name not in ("dataset", "as_json")
    }
    assert vars(build(Teaser, given)) == vars(Teaser())


def test_every_shared_option_has_a_help_text() -> None:
    shared = [value for value in vars(options).values() if hasattr(value, "__metadata__")]
    infos = [info for value in shared for info in value.__metadata__]
    found = [info for info in infos if isinstance(info, ParameterInfo)]
    assert len(found) > 10
    assert all(info.help for info in found)


def test_options_without_effect_are_named_as_they_are_written() -> None:
    refuse_unused("soup", user_rules=None)
    with pytest.raises(ParameterError, match="--user-rules does not go with soup"):
        refuse_unused("soup", user_rules=Path("x"))


def test_ids_are_repeated_or_separated_by_commas() -> None:
    items = ["a", "b,c", "d"]
    assert options.read_history(items, None) == []
    assert options.read_history(items, ["a", "d, a", "b,c", "e,,d"]) == [
        "a", "d", "a", "b,c", "e", "d",
    ]  # fmt: skip


def test_items_may_have_strengths() -> None:
    items = ["a", "b:1", "d"]
    given = ["a:0.5,d", "b:1"]
    assert options.read_history(items, given) == {"a": 0.5, "d": 1.0, "b:1": 1.0}
    assert options.read_history(items, ["a:-0.25", "b:1:2", "d:+.5"]) == {
        "a": -0.25, "b:1": 2.0, "d": 0.5,
    }  # fmt: skip
    # Neither a number nor an id: the model says that it does not know it.
    assert options.read_history(items, ["a:much", ":2"]) == ["a:much", ":2"]


def test_presses_are_counted_by_tag() -> None:
    assert options.read_presses(None) == {}
    given = ["a=b", "a=b:+2", "c=d:-3", "e=f:g", "h=i:+j"]
    assert options.read_presses(given) == {"a=b": 3, "c=d": -3, "e=f:g": 1, "h=i:+j": 1}
