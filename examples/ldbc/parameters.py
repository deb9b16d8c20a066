"""Parameters for every query, drawn from the network: people with many friends or few, common tags or rare ones."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from draws import Tables

Parameters = dict[str, dict[str, Any]]


def parameters(tables: Tables, which: int) -> Parameters:
    """One set of parameters, by query: 0 has the people and tags with most, 1 those in the middle."""
    friends = _ranked([*_column(tables, "Knows", "from"), *_column(tables, "Knows", "to")])
    authors = _ranked([*_column(tables, "CommentCreator", "to"), *_column(tables, "PostCreator", "to")])
    tags = [_name(tables, "Tag", tag) for tag in _ranked(_column(tables, "PostTag", "to"))]
    answered = _ranked([*_column(tables, "ReplyOfPost", "to"), *_column(tables, "ReplyOfComment", "to")])
    people = _ranked(_column(tables, "LivesIn", "from"))
    share = (0, 0.5)[which]
    person = friends[int(share * len(friends))]
    other = friends[int((share + 0.3) * len(friends))]
    begin = datetime(2011, 6 if which else 9, 1, tzinfo=UTC)
    late = datetime(2012, 3 if which else 10, 1, tzinfo=UTC)
    tag = tags[which * 20]
    one, two = ("India", "China") if which == 0 else ("Germany", "France")
    of = {"person": person}
    found: Parameters = {
        "is1": of,
        "is2": {"person": authors[which * 5]},
        "is3": of,
        **{name: {"message": answered[which * 30 + at]} for at, name in enumerate(("is4", "is5", "is6", "is7"))},
        "ic1": {**of, "name": ("Wei", "Anna")[which]},
        "ic2": {**of, "until": late},
        "ic3": {**of, "x": two, "y": "United_States", "start": begin, "days": 300},
        "ic4": {**of, "start": begin, "days": 200 if which else 30},
        "ic5": {**of, "since": begin},
        "ic6": {**of, "tag": tag},
        "ic7": {"person": authors[which * 7]},
        "ic8": {"person": authors[which * 7]},
        "ic9": {**of, "before": late},
        "ic10": {**of, "month": 12 if which else 5},
        "ic11": {**of, "country": one, "year": 2008},
        "ic12": {**of, "class": ("Agent", "Work")[which]},
        "ic13": {"one": person, "other": other},
        "ic14": {"one": person, "other": other},
        "bi1": {"before": late},
        "bi2": {"start": begin, "class": ("MusicalArtist", "Book")[which]},
        "bi3": {"class": ("MusicalArtist", "Sport")[which], "country": one},
        "bi4": {"since": datetime(2010, 6 if which else 2, 1, tzinfo=UTC)},
        "bi5": {"tag": tag},
        "bi6": {"tag": tag},
        "bi7": {"tag": tag},
        "bi8": {"tag": tag, "start": begin, "end": late},
        "bi9": {"start": begin, "end": begin + timedelta(days=90)},
        "bi10": {"person": people[which], "country": one, "class": ("MusicalArtist", "Film")[which]},
        "bi11": {"country": one, "start": begin, "end": late},
        "bi12": {"since": begin, "below": 90 if which else 60, "languages": ["de", "fr"] if which else ["hi", "zh"]},
        "bi13": {"country": one, "end": late},
        "bi14": {"one": one, "other": two},
        "bi15": {"one": person, "other": other, "start": begin, "end": late},
        "bi16": _talked_about(tables, which),
        "bi17": {"tag": tag, "hours": 8 + 4 * which},
        "bi18": {"tag": tag},
        "bi19": {"one": 100 + which * 12, "other": 101 + which * 15},
        "bi20": {"company": f"{one}_Air_0", "person": person},
    }
    return found


def _talked_about(tables: Tables, which: int) -> dict[str, Any]:
    """Two tags on the days when most was written about them."""
    posted = dict(zip(_column(tables, "Post", "number"), _column(tables, "Post", "creationDate"), strict=True))
    pairs = zip(_column(tables, "PostTag", "from"), _column(tables, "PostTag", "to"), strict=True)
    (one, on), (other, then) = _ranked([(tag, posted[post].date()) for post, tag in pairs])[2 * which : 2 * which + 2]
    return {"tagA": _name(tables, "Tag", one), "dayA": on, "tagB": _name(tables, "Tag", other), "dayB": then, "most": 4}


def _ranked(values: list[Any]) -> list[Any]:
    """The most frequent first, then the smallest."""
    return [value for value, _ in sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))]


def _column(tables: Tables, table: str, column: str) -> list[Any]:
    found: pa.ChunkedArray = tables[table][column]
    return found.to_pylist()


def _name(tables: Tables, table: str, number: int) -> str:
    at = _column(tables, table, "number").index(number)
    return str(_column(tables, table, "name")[at])
