"""IMDb: directors, writers, actors, runtime and year of linked movies."""

from pathlib import Path

import polars as pl

from teaser.data.sources.folder import LOG, Folder, add_list
from teaser.errors import TableError, closest

_CREW = {"director": "directors", "writer": "writers"}
_CAST = {"actor": "actors", "actress": "actors"}


def read_imdb(links: pl.DataFrame, folder: Folder, *, actors: bool = False) -> pl.DataFrame:
    """Return the credits, year and runtime of the linked movies.

    Parameters
    ----------
    links
        movieId and tconst, one row a movie.
    folder
        Has title.basics, name.basics and title.crew or title.principals, as .tsv or .tsv.gz.
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
        names = credited.filter(pl.col("role") == role).select("tconst", "primaryName")
        found = add_list(found, names, role)
    return found.drop("tconst")


def _titles(path: Path, wanted: pl.DataFrame) -> pl.DataFrame:
    """Return tconst, year and runtime; zero minutes mean an unknown runtime."""
    found = _read(path, ["tconst", "startYear", "runtimeMinutes"], wanted)
    runtime = pl.col("runtimeMinutes").cast(pl.Int64, strict=False)
    return found.select(
        "tconst",
        year=pl.col("startYear").cast(pl.Int64, strict=False),
        runtime=pl.when(runtime > 0).then(runtime),
    ).unique("tconst", keep="first")


def _credits(wanted: pl.DataFrame, folder: Folder, actors: bool) -> pl.DataFrame:
    """Return tconst, role and nconst in IMDb's order; title.crew is preferred to principals."""
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
    """Add the names of the credited; log how many have none in IMDb's table."""
    path = folder.need("names", "name.basics.tsv")
    wanted = credited.select("nconst").drop_nulls().unique()
    names = _read(path, ["nconst", "primaryName"], wanted)
    known = names.drop_nulls().unique("nconst", keep="first")
    if known.height < wanted.height:
        missing = wanted.join(known, on="nconst", how="anti")["nconst"].sort()
        LOG.info(
            f"{len(missing):,} of {wanted.height:,} credited names are not in {path}, such as "
            f"{missing[0]}."
        )
    return credited.join(known, on="nconst", how="inner", maintain_order="left")


def _report(links: pl.DataFrame, titles: pl.DataFrame, folder: Folder) -> None:
    """Log how many movies were found, and some of the others."""
    unmatched = links.join(titles, on="tconst", how="anti", maintain_order="left")
    matched = links.height - unmatched.height
    if matched == 0:
        LOG.warning(
            f"None of the {links.height:,} movies was found in the IMDb tables of {folder.path}. "
            "Does links.csv belong to these movies?"
        )
        return
    LOG.info(f"{matched:,} of {links.height:,} movies were found in IMDb.")
    if unmatched.height:
        few = ", ".join(str(m) for m in unmatched["movieId"].head(5))
        LOG.info(f"{unmatched.height:,} movies were not found in IMDb, such as {few}.")


def _read(path: Path, columns: list[str], wanted: pl.DataFrame) -> pl.DataFrame:
    r"""Read the wanted rows of a table that is too large for memory.

    Fields are separated by tabs and never quoted; `\N` means no value. The one column of
    `wanted` has the keys of the rows.
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
