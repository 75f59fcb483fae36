"""IMDb's tables, joined to movies by their links: directors, writers, actors, runtime, year."""

from pathlib import Path

import polars as pl

from teaser.data.sources.folder import LOG, Folder
from teaser.errors import TableError, closest

_CREW = {"director": "directors", "writer": "writers"}
_CAST = {"actor": "actors", "actress": "actors"}


def read_imdb(links: pl.DataFrame, folder: Folder, *, actors: bool = False) -> pl.DataFrame:
    """Return what IMDb knows of the linked movies.

    Parameters
    ----------
    links
        movieId and tconst, a row a movie.
    folder
        Holds title.basics, name.basics and title.crew or title.principals, as .tsv or .tsv.gz.
    actors
        Whether actors are wanted too, which takes title.principals.

    Returns
    -------
    frame
        movieId, year, runtime, directors, writers and, when asked for, actors.
    """
    wanted = links.select("tconst").drop_nulls().unique()
    titles = _titles(folder.need("titles", "title.basics.tsv"), wanted)
    credited = _named(_credits(wanted, folder, actors), folder)
    _report(links, titles, folder)
    found = links.join(titles, on="tconst", how="left", maintain_order="left")
    for role in ("directors", "writers", *(["actors"] if actors else [])):
        names = credited.filter(pl.col("role") == role).select("tconst", role=pl.col("primaryName"))
        people = names.unique(maintain_order=True).group_by("tconst", maintain_order=True)
        lists = people.agg("role").rename({"role": role})
        found = found.join(lists, on="tconst", how="left", maintain_order="left")
    return found.drop("tconst")


def _titles(path: Path, wanted: pl.DataFrame) -> pl.DataFrame:
    """Return tconst, year and runtime; no minutes at all count as unknown."""
    found = _read(path, ["tconst", "startYear", "runtimeMinutes"], wanted)
    runtime = pl.col("runtimeMinutes").cast(pl.Int64, strict=False)
    return found.select(
        "tconst",
        year=pl.col("startYear").cast(pl.Int64, strict=False),
        runtime=pl.when(runtime > 0).then(runtime),
    ).unique("tconst", keep="first")


def _credits(wanted: pl.DataFrame, folder: Folder, actors: bool) -> pl.DataFrame:
    """Return tconst, role and nconst, in IMDb's order; directors and writers rather from crew."""
    crew = folder.find("title.crew.tsv")
    if crew is None:
        path = folder.need("directors and writers", "title.crew.tsv", "title.principals.tsv")
        return _principals(path, wanted, {**_CREW, **(_CAST if actors else {})})
    parts = [_crew(crew, wanted)]
    if actors:
        parts.append(_principals(folder.need("actors", "title.principals.tsv"), wanted, _CAST))
    return pl.concat(parts)


def _crew(path: Path, wanted: pl.DataFrame) -> pl.DataFrame:
    found = _read(path, ["tconst", "directors", "writers"], wanted)
    long = found.unpivot(index="tconst", variable_name="role", value_name="nconst").drop_nulls()
    return long.with_columns(pl.col("nconst").str.split(",")).explode("nconst")


def _principals(path: Path, wanted: pl.DataFrame, roles: dict[str, str]) -> pl.DataFrame:
    found = _read(path, ["tconst", "ordering", "nconst", "category"], wanted)
    rows = found.filter(pl.col("category").is_in(list(roles)))
    rows = rows.sort("tconst", pl.col("ordering").cast(pl.Int64, strict=False), maintain_order=True)
    role = pl.col("category").replace_strict(roles, return_dtype=pl.String)
    return rows.select("tconst", role.alias("role"), "nconst")


def _named(credited: pl.DataFrame, folder: Folder) -> pl.DataFrame:
    """Add the people's names; those that IMDb's table of names does not have are counted."""
    path = folder.need("names", "name.basics.tsv")
    people = credited.select("nconst").drop_nulls().unique()
    names = _read(path, ["nconst", "primaryName"], people)
    known = names.drop_nulls().unique("nconst", keep="first")
    if known.height < people.height:
        missing = people.join(known, on="nconst", how="anti")["nconst"].sort()
        LOG.info(
            "%s of %s people have no name in %s, such as %s.",
            f"{len(missing):,}",
            f"{people.height:,}",
            path,
            missing[0],
        )
    return credited.join(known, on="nconst", how="inner", maintain_order="left")


def _report(links: pl.DataFrame, titles: pl.DataFrame, folder: Folder) -> None:
    """Say how many movies were found, and name some of the others."""
    unmatched = links.join(titles, on="tconst", how="anti", maintain_order="left")
    matched = links.height - unmatched.height
    if matched == 0:
        LOG.warning(
            "None of the %s movies was found in the IMDb tables of %s. Is links.csv theirs?",
            f"{links.height:,}",
            folder.path,
        )
        return
    LOG.info("%s of %s movies were found in IMDb.", f"{matched:,}", f"{links.height:,}")
    if unmatched.height:
        few = ", ".join(str(m) for m in unmatched["movieId"].head(5))
        LOG.info("%s movies were not found in IMDb, such as %s.", f"{unmatched.height:,}", few)


def _read(path: Path, columns: list[str], wanted: pl.DataFrame) -> pl.DataFrame:
    """Read the wanted rows of a table of IMDb, which is too large to be held whole.

    Fields have tabs between them and are never quoted; a backslash and N stand for nothing. The
    one column of `wanted` holds the keys of the rows.
    """
    try:
        frame = pl.scan_csv(
            path, separator="\t", quote_char=None, infer_schema=False, null_values="\\N"
        )
        found = frame.collect_schema().names()
        for column in columns:
            if column not in found:
                near = closest(column, found)
                raise TableError(
                    f"{path} lacks column {column!r}. Found: {', '.join(found)}.{near}"
                )
        rows = frame.select(columns).join(wanted.lazy(), on=wanted.columns, how="semi")
        return rows.collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise TableError(f"{path} could not be read: {error}.") from error
