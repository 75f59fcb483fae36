"""The extensions of Teaser by parameter name, and their options as plain tables.

In json and TOML an options object is a table, `remainder = { l2 = 1000 }`; a grid names one of
its entries with a dot, `remainder.l2 = [300, 1000]`.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args, get_type_hints

from teaser.errors import ParameterError, closest
from teaser.model.checks import is_number
from teaser.model.extensions.decoder import LearnedDecoder
from teaser.model.extensions.discovered import DiscoveredTags
from teaser.model.extensions.remainder import Remainder
from teaser.model.extensions.sparse import SparseEncoder
from teaser.model.extensions.weights import Weights

OPTIONS: dict[str, type[Any]] = {
    "weights": Weights,
    "discovered": DiscoveredTags,
    "remainder": Remainder,
    "decoder": LearnedDecoder,
    "sparse": SparseEncoder,
}

# Names of parameters before the extensions had options objects.
_RENAMED = {
    "people": "user_features",
    "l2_remainder": "remainder.l2",
    "remainder_share": "remainder.share",
    "l2_decoder": "decoder.l2",
    "rounds": "decoder.rounds",
    "density": "sparse.density",
}


def read_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with options objects in place of tables and dotted names.

    Parameters
    ----------
    given
        Parameters as json or TOML hold them, such as `{"remainder": {"l2": 5.0}}` or
        `{"remainder.l2": 5.0}`; also with the names of earlier versions.
    """
    out: dict[str, Any] = {}
    for name, value in _upgrade(given).items():
        head, _, entry = name.partition(".")
        if head in OPTIONS and (entry or isinstance(value, Mapping)):
            table = out.setdefault(head, {})
            if not isinstance(table, dict):
                raise ParameterError(f"{head} is given as {table!r} and as {name}. Give one.")
            table |= {entry: value} if entry else value
        else:
            out[name] = value
    return {name: _build(name, v) if isinstance(v, dict) else v for name, v in out.items()}


def complete_saved(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a saved model, with what was no option when it was written.

    A remainder that says nothing of neighbours was a joint one.
    """
    out = _upgrade(saved)
    given = {name for name, value in out.items() if value is not None}
    table = out.get("remainder") or {}
    if any(name.split(".")[0] == "remainder" for name in given) and isinstance(table, Mapping):
        out.setdefault("remainder.neighbours", table.get("neighbours"))
    return out


def build_options(kind: type[Any], table: Mapping[str, Any]) -> Any:
    """Return an options object of its entries; 0 stands for None where a number may be None.

    TOML and command lines cannot write None.
    """
    hints = get_type_hints(kind)
    can_be_none = {name for name, hint in hints.items() if type(None) in get_args(hint)}
    given = {
        n: None if n in can_be_none and is_number(v) and v == 0 else v for n, v in table.items()
    }
    return kind(**given)


def check_options(name: str, value: Any) -> None:
    """Raise `ParameterError` unless this is None or an options object with sensible values."""
    if value is None:
        return
    if not isinstance(value, OPTIONS[name]):
        kind = OPTIONS[name].__name__
        raise ParameterError(
            f"{name} must be a {kind} object or None, found {value!r}. Use {name}={kind}()."
        )
    value.check()


def _build(name: str, table: Mapping[str, Any]) -> Any:
    if name not in OPTIONS:
        return table
    known = [field.name for field in fields(OPTIONS[name])]
    for entry in table:
        if entry not in known:
            raise ParameterError(
                f"{name} has no option {entry!r}. Known: {', '.join(known)}.{closest(entry, known)}"
            )
    # Neither json nor TOML has tuples.
    plain = {entry: tuple(v) if isinstance(v, list) else v for entry, v in table.items()}
    return build_options(OPTIONS[name], plain)


def _upgrade(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters under today's names.

    Earlier versions kept the entries of every extension, and said otherwise which were in use.
    """
    out = {_RENAMED.get(name, name): value for name, value in given.items()}
    unused: set[str] = set()
    if out.get("decoder") == "learned":
        out["decoder"] = {}
    elif out.get("decoder") == "tags":
        unused |= {"decoder", "decoder.l2", "decoder.rounds"}
    if out.get("remainder.l2", 0) is None:
        unused |= {"remainder.l2", "remainder.share"}
    if out.get("sparse.density", 0) is None:
        unused.add("sparse.density")
    return {name: value for name, value in out.items() if name not in unused}
