"""Posts, trees of answers and likes: the larger part of the network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from draws import BEGIN, DAY, END, Numbers, Scene, edges, moments, power, zipf
from words import BROWSERS, COUNTRIES, SENTENCE, SHORT

LEVELS = 6  # how deep answers go
EVENTS = 12  # hours at which everybody writes about one tag
_TEXT = SENTENCE * 10


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages of one level, one entry for each."""

    number: Numbers
    author: Numbers
    forum: Numbers
    created: Numbers
    tag: Numbers

    def where(self, kept: Numbers) -> Messages:
        """Some of them."""
        return Messages(self.number[kept], self.author[kept], self.forum[kept], self.created[kept], self.tag[kept])


def write_messages(scene: Scene) -> None:
    """Add everything that people write and like."""
    posts = _posts(scene)
    _likes(scene, posts, "LikesPost")
    levels: list[tuple[Messages, Numbers]] = []
    above = posts
    for level in range(LEVELS):
        level_found = _answers(scene, above, 1_000_001 + 2 * _count(posts, levels), level)
        levels.append(level_found)
        above = level_found[0]
    comments = _joined([messages for messages, _ in levels])
    scene.tables["Comment"] = pa.table(_described(scene, comments, comment=True))
    first = len(levels[0][1])
    parents = np.concatenate([parent for _, parent in levels])
    scene.tables["ReplyOfPost"] = edges(comments.number[:first], parents[:first])
    scene.tables["ReplyOfComment"] = edges(comments.number[first:], parents[first:])
    _likes(scene, comments, "LikesComment")


def _count(posts: Messages, levels: list[tuple[Messages, Numbers]]) -> int:
    return len(posts.number) + sum(len(messages.number) for messages, _ in levels)


def _joined(parts: list[Messages]) -> Messages:
    return Messages(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("number", "author", "forum", "created", "tag")
        )
    )


def _posts(scene: Scene) -> Messages:
    rng, people, forums, members, joined = scene.rng, scene.people, scene.forums, scene.members, scene.joined
    every = np.arange(len(forums.number))
    sizes = members.sizes(every)
    counts = np.where(sizes > 0, power(rng, len(every), 4, 400) + sizes // 2, 0)
    forum = np.repeat(every, counts)
    place = members.places(rng, forum)
    author, since = members.items[place], joined.items[place]
    own = rng.random(len(forum)) < 0.3  # the owner writes most
    author = np.where(own, forums.owner[forum], author)
    since = np.where(own, forums.created[forum], since)
    created = since + (rng.random(len(forum)) * (END - since)).astype(np.int64)
    tag = np.where(rng.random(len(forum)) < 0.6, forums.tag[forum], people.tastes[author, zipf(rng, len(forum), 3)])
    tags = scene.tables["Tag"].num_rows
    event = rng.integers(0, EVENTS, len(forum))
    times = BEGIN + ((0.3 + 0.6 * np.arange(EVENTS) / EVENTS) * (END - BEGIN)).astype(np.int64)
    at = times[event] + (rng.normal(0, 0.3, len(forum)) * DAY).astype(np.int64)
    mob = (rng.random(len(forum)) < 0.15) & (at > since)
    created, tag = np.where(mob, at, created), np.where(mob, (event * 17 + 3) % tags, tag)
    posts = Messages(1_000_001 + 2 * np.arange(len(forum)), author, forum, created, tag)
    scene.tables["Post"] = pa.table(_described(scene, posts, comment=False))
    scene.tables["ContainerOf"] = edges(forums.number[forum], posts.number)
    return posts


def _answers(scene: Scene, above: Messages, first: int, level: int) -> tuple[Messages, Numbers]:
    """Answers to messages of one level, and what each of them answers."""
    rng, people, members, joined = scene.rng, scene.people, scene.members, scene.joined
    counts = power(rng, len(above.number), 1.6 if level == 0 else 0.9, 60)
    parent = np.repeat(np.arange(len(above.number)), counts)
    place = members.places(rng, above.forum[parent])
    author, since = members.items[place], joined.items[place]
    soon = (rng.exponential(0.4, len(parent)) * DAY).astype(np.int64) + 1_000
    created = np.maximum(above.created[parent], since) + soon
    kept = np.flatnonzero(created < END)
    parent, author, created = parent[kept], author[kept], created[kept]
    same = rng.random(len(parent)) < 0.5
    tag = np.where(same, above.tag[parent], people.tastes[author, zipf(rng, len(parent), 3)])
    found = Messages(first + 2 * np.arange(len(parent)), author, above.forum[parent], created, tag)
    return found, above.number[parent]


def _described(scene: Scene, messages: Messages, *, comment: bool) -> dict[str, object]:
    """Texts, places and tags of messages; their columns."""
    tables, rng, people = scene.tables, scene.rng, scene.people
    kind = "Comment" if comment else "Post"
    count = len(messages.number)
    photo = np.zeros(count, bool) if comment else rng.random(count) < 0.25
    brief = (rng.random(count) < 0.6) if comment else np.zeros(count, bool)
    sizes = np.minimum(20 + rng.lognormal(4.0, 0.8, count), 2_000).astype(np.int64)
    names = tables["Tag"]["name"].to_pylist()
    words = rng.integers(0, len(SHORT), count)
    texts = [
        None if image else SHORT[word] if short else f"About {names[tag]}: {_TEXT}"[:size]
        for image, short, word, tag, size in zip(photo, brief, words, messages.tag, sizes, strict=True)
    ]
    home = people.country[messages.author]
    abroad = rng.random(count) < 0.12
    country = np.where(abroad, rng.integers(0, len(COUNTRIES), count), home)
    tables[f"{kind}Country"] = edges(messages.number, country)
    tables[f"{kind}Creator"] = edges(messages.number, people.number[messages.author])
    _tags(scene, messages, kind, ~brief)
    columns: dict[str, object] = {
        "number": messages.number,
        "creationDate": moments(messages.created),
        "content": pa.array(texts, pa.string()),
        "length": pa.array([0 if text is None else len(text) for text in texts], pa.int32()),
        "browserUsed": np.array(BROWSERS)[zipf(rng, count, 5)],
        "locationIP": [f"{31 + nation}.9.0.{at % 256}" for at, nation in enumerate(country)],
    }
    if not comment:
        languages = [country[3].split()[0] for country in COUNTRIES]
        columns["imageFile"] = pa.array(
            [f"photo{at}.jpg" if image else None for at, image in enumerate(photo)], pa.string()
        )
        columns["language"] = pa.array(
            [None if image else languages[at] for image, at in zip(photo, home, strict=True)], pa.string()
        )
    return columns


def _tags(scene: Scene, messages: Messages, kind: str, tagged: Numbers) -> None:
    """Its own tag, and sometimes another favourite of the author or anything at all."""
    tables, rng, people = scene.tables, scene.rng, scene.people
    every = np.flatnonzero(tagged)
    second = every[rng.random(len(every)) < 0.4]
    third = every[rng.random(len(every)) < 0.2]
    taste = people.tastes[messages.author[second], zipf(rng, len(second), 3)]
    chance = rng.integers(0, tables["Tag"].num_rows, len(third))
    rows = np.concatenate((every, second, third))
    pairs = np.unique(rows * 10_000 + np.concatenate((messages.tag[every], taste, chance)))
    tables[f"{kind}Tag"] = edges(messages.number[pairs // 10_000], pairs % 10_000)


def _likes(scene: Scene, messages: Messages, name: str) -> None:
    rng, people = scene.rng, scene.people
    counts = power(rng, len(messages.number), 1.5, 200)
    row = np.repeat(np.arange(len(messages.number)), counts)
    count = len(people.number)
    pairs = np.unique(row * count + scene.members.draw(rng, messages.forum[row]))
    row, person = pairs // count, pairs % count
    other = person != messages.author[row]
    row, person = row[other], person[other]
    at = messages.created[row] + (rng.exponential(1.5, len(row)) * DAY).astype(np.int64)
    scene.tables[name] = edges(people.number[person], messages.number[row], creationDate=moments(at))
