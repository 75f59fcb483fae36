"""Files of public data sets in their official layouts, written by hand for the tests."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from teaser.data.rules import Rules
from teaser.data.sources.folder import READERS, Source, detect

REAL = Path(os.environ.get("TEASER_DATA") or Path(__file__).parents[2] / "shared" / "data")
RATINGS_DAT = "1::10::5::978300760\n1::11::3::978302109\n2::10::4::978301968\n"
MOVIES_DAT = (
    "10::Lantern, The (1995)::Animation|Children's\n"
    "11::Café of Rain (Café de la pluie, Le) (1971)::Drama\n"
)
USERS_DAT = "1::F::1::10::48067\n2::M::56::16::70072-1234\n"
EXTRAS_DAT = (
    "11::N/A::1970::UNRATED::N/A::N/A::N/A::N/A::N/A::N/A::N/A\r\n"
    "10::The Lantern::1995::PG::22 Nov 1995::Animation, Family::Ann Ox, Bo Ey(co-director)"
    '::Ann Ox (story), Cy Du (story), Ann Ox (screenplay), Di Em (novel "Up, Down")'
    "::Ed Fa, Gil Ho::A boy: he says:: hello.::https://pictures.example/10.jpg\r\n"
)
RATINGS_CSV = "userId,movieId,rating,timestamp\n1,1,4.0,964982703\n1,2,2.5,964981247\n2,1,5.0,7\n"
MOVIES_CSV = (
    "movieId,title,genres\n"
    '1,"Lantern, The (Lanterne, La) (1995)",Adventure|Animation\n'
    "2,Night Office (2006–2007),Drama\n"
    "3,Nameless,(no genres listed)\n"
)
TAGS_CSV = 'userId,movieId,tag,timestamp\n1,1,Fun,1\n2,1, fun ,2\n2,1,"a|b, c",3\n2,2,dark,4\n'
LINKS_CSV = "movieId,imdbId,tmdbId\n1,0114709,862\n2,10048342,\n3,0000003,5\n"
IMDB = {
    "title.basics.tsv": "tconst\ttitleType\tprimaryTitle\tstartYear\truntimeMinutes\n"
    'tt0114709\tmovie\t"Lantern\t1995\t81\n'
    "tt10048342\ttvSeries\tNight Office\t2006\t\\N\n"
    "tt0000003\tmovie\tNameless\t1892\t4\n"
    "tt0000009\tmovie\tOther\t1894\t45\n",
    "title.crew.tsv": "tconst\tdirectors\twriters\n"
    "tt0114709\tnm0000002,nm0000001\tnm0000003\n"
    "tt10048342\tnm0000001\t\\N\n"
    "tt0000009\tnm0000004\tnm0000004\n",
    "title.principals.tsv": "tconst\tordering\tnconst\tcategory\tjob\tcharacters\n"
    "tt0114709\t10\tnm0000001\tactress\t\\N\t\\N\n"
    "tt0114709\t2\tnm0000003\tactor\t\\N\t\\N\n"
    "tt0114709\t3\tnm0000001\tdirector\t\\N\t\\N\n"
    "tt0114709\t4\tnm0000003\twriter\t\\N\t\\N\n"
    "tt0000009\t1\tnm0000004\tactor\t\\N\t\\N\n",
    "name.basics.tsv": "nconst\tprimaryName\tbirthYear\n"
    "nm0000001\tAnn Ox\t1960\nnm0000002\tBo Ey\t\\N\nnm0000003\tCy Du\t\\N\nnm0000004\tNo One\t1\n",
}
REVIEWS_2014 = [
    {"reviewerID": "A1", "asin": "B01", "overall": 5.0, "unixReviewTime": 1341792000},
    {"reviewerID": "A2", "asin": "B01", "overall": 3.0, "unixReviewTime": 1341792001},
    {"reviewerID": "A2", "asin": "B02", "overall": 4.0, "unixReviewTime": 1341792002},
]
META_2014: list[dict[str, Any]] = [
    {
        "asin": "B01",
        "title": "Knight&#39;s <b>Quest</b>",
        "description": "A &quot;game&quot;<br />for  two, 3 < 4.",
        "price": 12.99,
        "brand": "Ox & Ey",
        "categories": [["Video Games", "PC", "Games"], ["Toys", "Puzzles"], ["Else", "Games"]],
        "imUrl": "http://pictures.example/B01.jpg",
    },
    {"asin": "B09", "title": "never reviewed"},
    {"asin": "B02", "price": -1, "brand": "", "categories": []},
]


def write(folder: Path, **files: str) -> Path:
    """Write texts into a folder; `__` in a keyword stands for the dot of the file's name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


def write_imdb(folder: Path, *names: str, zipped: bool = False) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or IMDB:
        if zipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(IMDB[name].encode()))
        else:
            (folder / name).write_text(IMDB[name], encoding="utf-8")
    return folder


def jsonl(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def literals(records: list[dict[str, Any]]) -> str:
    return "".join(repr(record) + "\n" for record in records)


def features(rules: Rules) -> dict[str, int]:
    return {rule.name: rule.min_items for rule in rules.tags}


def real(name: str) -> Path:
    folder = REAL / name
    if not folder.is_dir():
        pytest.skip(f"The real data {name} are not at {folder}; set TEASER_DATA to their folder.")
    return folder


def read_real(name: str, reader: Callable[..., Source]) -> Source:
    """Read a real copy, which must be detected as the layout of this reader."""
    folder = real(name)
    assert READERS[detect(folder)].read is reader
    return reader(folder)
