"""What is written of a data set, and the attributes of one that was saved, also earlier."""

from dataclasses import asdict, replace
from typing import Any

import polars as pl

from teaser import artifact
from teaser.data.ids import Ids, saved_ids
from teaser.data.reading.interactions import ReadReport
from teaser.data.reading.partitions import Interactions
from teaser.data.reading.table import Refusal
from teaser.data.sparse_matrix import pack, unpack
from teaser.data.tagging.one_hot import TagReport
from teaser.data.tagging.roles import check_roles
from teaser.data.tagging.rule_set import Rules
from teaser.data.tagging.tag import tag_frame, tags_from
from teaser.data.tagging.user_features import UserFeatures
from teaser.errors import ArtifactError
from teaser.files.arrays import find_not_finite


def parts_of(dataset: Any) -> dict[str, Any]:
    """Return settings, arrays and tables of a data set, to be written.

    Interactions in partitions are not copied; only their paths are written.
    """
    settings = {
        "rules": dataset.rules.as_dict(),
        "skipped": dict(dataset.rules.skipped),
        "report": dataset.report.as_dict(),
        "tag_report": dataset.tag_report.as_dict(),
        "items_without_metadata": dataset.items_without_metadata,
        "items_refused": [asdict(r) for r in dataset.items_refused],
        **({"notes": list(dataset.notes)} if dataset.notes else {}),
    }
    arrays = pack("S", dataset.S)
    tables = {"items": dataset.table, "tags": tag_frame(dataset.tags)}
    if isinstance(dataset.X, Interactions):
        settings["partitions"] = dataset.X.settings()
        arrays["X.counts"] = dataset.item_counts
    else:
        arrays |= pack("X", dataset.X)
        tables["users"] = pl.DataFrame({"user": dataset.users[:]})
    if dataset.times is not None:
        arrays["times"] = dataset.times
    if dataset.disliked is not None:
        arrays |= pack("disliked", dataset.disliked)
    if dataset.user_features is not None:
        settings["user_features"] = dataset.user_features.settings()
        arrays |= pack("F", dataset.user_features.Q)  # the name of earlier versions
        tables["people_tags"] = tag_frame(dataset.user_tags)
    return {"settings": settings, "arrays": arrays, "tables": tables}


def attributes_of(content: artifact.Content, origin: str) -> dict[str, Any]:
    """Return the attributes of the data set that a folder holds.

    Parameters
    ----------
    content
        What the folder holds, also as earlier versions wrote it.
    origin
        Its name in messages.
    """
    s, tables = content.settings, content.tables
    rules = Rules.from_dict(s["rules"], origin=origin)
    ids = tables["items"].to_series(0).alias("item")
    items = saved_ids(ids, "items")
    check_roles(rules.roles, tables["items"].columns)
    _check_finite(content)
    tags = tags_from(tables["tags"])
    if "partitions" in s:
        users, X = Ids(()), Interactions.of(s["partitions"], ids, content.arrays["X.counts"])
    else:
        users = saved_ids(tables["users"]["user"], "users")
        X = unpack("X", content.arrays, (len(users), len(items)))
    return {
        "X": X,
        "S": unpack("S", content.arrays, (len(items), len(tags))),
        "users": users,
        "items": items,
        "tags": tags,
        "table": tables["items"],
        "rules": replace(rules, skipped=s["skipped"]),
        "report": ReadReport.from_dict(s["report"]),
        "tag_report": TagReport.from_dict(s["tag_report"]),
        "items_without_metadata": s["items_without_metadata"],
        "items_refused": Refusal.from_dicts(s["items_refused"]),
        "user_features": _user_features(content, len(users)),
        # Earlier versions had none of these.
        "times": content.arrays.get("times"),
        "notes": tuple(s.get("notes", ())),
        "disliked": unpack("disliked", content.arrays, X.shape)
        if "disliked.indptr" in content.arrays
        else None,
    }


def _check_finite(content: artifact.Content) -> None:
    # A time that is not known is NaN.
    known = {name: array for name, array in content.arrays.items() if name != "times"}
    name = find_not_finite(known)
    if name is not None:
        raise ArtifactError(f"Its array {name!r} has numbers that are not finite.")


def _user_features(content: artifact.Content, n_users: int) -> UserFeatures | None:
    # Version 0.1.0 wrote "people".
    settings = content.settings.get("user_features", content.settings.get("people"))
    if settings is None:
        return None
    tags = tags_from(content.tables["people_tags"])
    Q = unpack("F", content.arrays, (n_users, len(tags)))
    return UserFeatures.of(settings, Q, tags)
