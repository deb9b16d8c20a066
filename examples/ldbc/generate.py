"""A social network with the skews of the LDBC benchmark, as Arrow tables: any number of people, from one seed.

What is skewed, after the benchmark's generator: names, languages and tastes go with the country; the number of friends
follows a power law; friends are people who live and study in one place, who like the same things, or chance; walls and
groups have friends as members; members post about the tags of the forum; answers grow into trees, and their number and
that of likes follow power laws; at some hours everybody writes about one tag.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from draws import BEGIN, END, Forums, Lists, Numbers, People, Scene, Tables, edges, moments, power, zipf
from messages import write_messages
from words import BROWSERS, CLASSES, COUNTRIES, MAILS

TAGS_OF_CLASS = 12


def generate(people: int, seed: int = 1) -> Tables:
    """Every table, by the name of its node or edge type."""
    rng = np.random.default_rng(seed)
    tables: Tables = {}
    _world(tables)
    found = _people(tables, rng, people)
    one, other = _friends(tables, rng, found)
    friends = Lists.of(np.concatenate((one, other)), np.concatenate((other, one)), people)
    write_messages(_forums(tables, rng, found, friends))
    return tables


# --- places, organisations, tags ---------------------------------------------------------------------


def _named(numbers: Numbers, names: list[str]) -> pa.Table:
    urls = [f"https://snb.example/{name}" for name in names]
    return pa.table({"number": pa.array(numbers, pa.int64()), "name": names, "url": urls})


def _world(tables: Tables) -> None:
    continents = sorted({country[1] for country in COUNTRIES})
    count = len(COUNTRIES)
    nations = np.arange(count)
    cities = np.arange(4 * count)
    tables["Country"] = _named(nations, [country[0] for country in COUNTRIES])
    tables["City"] = _named(100 + cities, [city for country in COUNTRIES for city in country[7].split()])
    tables["Continent"] = _named(900 + np.arange(len(continents)), continents)
    tables["PartOfCountry"] = edges(100 + cities, cities // 4)
    tables["PartOfContinent"] = edges(nations, np.array([900 + continents.index(country[1]) for country in COUNTRIES]))
    towns = tables["City"]["name"].to_pylist()
    tables["University"] = _named(2000 + cities, [f"University_of_{town}" for town in towns])
    tables["UniversityCity"] = edges(2000 + cities, 100 + cities)
    firms = np.arange(5 * count)
    tables["Company"] = _named(1000 + firms, [f"{COUNTRIES[at // 5][0]}_Air_{at % 5}" for at in range(5 * count)])
    tables["CompanyCountry"] = edges(1000 + firms, firms // 5)
    classes = [name for name, _, _ in CLASSES]
    below = [at for at, (_, above, _) in enumerate(CLASSES) if above]
    tables["TagClass"] = _named(np.arange(len(classes)), classes)
    tables["SubclassOf"] = edges(np.array(below), np.array([classes.index(CLASSES[at][1]) for at in below]))
    named = [(at, word) for at, (_, _, words) in enumerate(CLASSES) for word in words.split()]
    tags = [(at, f"{word}_{serial}") for at, word in named for serial in range(TAGS_OF_CLASS // 3)]
    tables["Tag"] = _named(np.arange(len(tags)), [name for _, name in tags])
    tables["HasType"] = edges(np.arange(len(tags)), np.array([at for at, _ in tags]))


# --- people ------------------------------------------------------------------------------------------


def _people(tables: Tables, rng: np.random.Generator, count: int) -> People:
    shares = np.array([country[2] for country in COUNTRIES])
    country = rng.choice(len(COUNTRIES), count, p=shares / shares.sum()).astype(np.int64)
    city = country * 4 + zipf(rng, count, 4)
    number = 10_000 + np.arange(count) * 7  # ids with holes, as anywhere
    created = BEGIN + (np.sqrt(rng.random(count)) * (END - BEGIN) * 0.8).astype(np.int64)
    woman = rng.random(count) < 0.5
    first = np.array([(country[5].split(), country[4].split()) for country in COUNTRIES])
    last = np.array([country[6].split() for country in COUNTRIES])
    spoken = [country[3].split() for country in COUNTRIES]
    names = first[country, woman.astype(np.int64), zipf(rng, count, 4)]
    mails = zipf(rng, count, len(MAILS))
    tables["Person"] = pa.table(
        {
            "number": number,
            "firstName": names,
            "lastName": last[country, zipf(rng, count, 4)],
            "gender": np.where(woman, "female", "male"),
            "birthday": pa.array((3_650 + rng.integers(0, 3_650, count)).astype(np.int32), pa.int32()).cast(
                pa.date32()
            ),
            "email": [
                [f"{name}{at}@{MAILS[mail]}"] + ([f"{at}@{MAILS[0]}"] if at % 3 == 0 else [])
                for at, (name, mail) in enumerate(zip(names, mails, strict=True))
            ],
            "speaks": [
                spoken[at] if lone else [*spoken[at], "eo"]
                for at, lone in zip(country, rng.random(count) < 0.8, strict=True)
            ],
            "browserUsed": np.array(BROWSERS)[zipf(rng, count, 5)],
            "locationIP": _addresses(rng, country),
            "creationDate": moments(created),
        }
    )
    tables["LivesIn"] = edges(number, 100 + city)
    _careers(tables, rng, number, city)
    tastes = _tastes(tables, rng, number, country)
    return People(number, country, city, created, tastes)


def _addresses(rng: np.random.Generator, country: Numbers) -> list[str]:
    low = rng.integers(0, 65_536, len(country))
    return [f"{31 + nation}.8.{at >> 8}.{at & 255}" for nation, at in zip(country, low, strict=True)]


def _careers(tables: Tables, rng: np.random.Generator, number: Numbers, city: Numbers) -> None:
    count = len(number)
    years = 2000 + rng.integers(0, 10, count)
    studied = np.flatnonzero(rng.random(count) < 0.8)
    place = np.where(rng.random(count) < 0.9, city, rng.integers(0, 4 * len(COUNTRIES), count))
    again = studied[rng.random(len(studied)) < 0.05]  # a few went to two
    tail = np.concatenate((studied, again))
    head = np.concatenate((place[studied], (place[again] + 1) % (4 * len(COUNTRIES))))
    tables["StudyAt"] = edges(number[tail], 2000 + head, classYear=pa.array(years[tail], pa.int32()))
    worked = np.repeat(np.arange(count), rng.integers(0, 4, count))
    abroad = rng.random(len(worked)) < 0.2
    firm = np.where(abroad, rng.integers(0, len(COUNTRIES), len(worked)), city[worked] // 4) * 5 + zipf(
        rng, len(worked), 5
    )
    pairs = np.unique(worked * 10_000 + firm)
    since = 2000 + rng.integers(0, 13, len(pairs))
    tables["WorkAt"] = edges(number[pairs // 10_000], 1000 + pairs % 10_000, workFrom=pa.array(since, pa.int32()))


def _tastes(tables: Tables, rng: np.random.Generator, number: Numbers, country: Numbers) -> Numbers:
    """Which tags are popular differs from country to country; the first three of a person are its favourites."""
    tags = tables["Tag"].num_rows
    ranked = np.array([np.random.default_rng(at).permutation(tags) for at in range(len(COUNTRIES))])
    count = len(number)
    favourites = ranked[np.repeat(country, 3), zipf(rng, 3 * count, tags)].reshape(count, 3)
    more = np.repeat(np.arange(count), power(rng, count, 8, 40))
    others = ranked[country[more], zipf(rng, len(more), tags)]
    pairs = np.unique(
        np.concatenate((np.repeat(np.arange(count), 3) * 10_000 + favourites.ravel(), more * 10_000 + others))
    )
    tables["HasInterest"] = edges(number[pairs // 10_000], pairs % 10_000)
    return favourites


def _friends(tables: Tables, rng: np.random.Generator, people: People) -> tuple[Numbers, Numbers]:
    """Pairs of people, each once: near in place and study, near in taste, or by chance."""
    count = len(people.number)
    mean = min(6 + 4 * np.log10(count), count / 4)
    degree = 1 + power(rng, count, mean, count // 3)
    orders = (
        np.lexsort((rng.random(count), people.city)),
        np.lexsort((rng.random(count), people.tastes[:, 0])),
        rng.permutation(count),
    )
    ones, others = [], []
    for order, share in zip(orders, (0.45, 0.45, 0.1), strict=True):
        place = np.empty(count, np.int64)
        place[order] = np.arange(count)
        one = np.repeat(np.arange(count), rng.binomial(degree, share / 2) + (share == 0.45))
        far = rng.geometric(0.15, len(one)) * rng.choice((-1, 1), len(one))
        ones.append(one)
        others.append(order[(place[one] + far) % count])
    one, other = np.concatenate(ones), np.concatenate(others)
    pairs = np.unique(np.minimum(one, other) * count + np.maximum(one, other))
    one, other = pairs // count, pairs % count
    one, other = one[one != other], other[one != other]
    since = np.maximum(people.created[one], people.created[other])
    since = since + (rng.random(len(since)) * (END - since)).astype(np.int64)
    tables["Knows"] = edges(people.number[one], people.number[other], creationDate=moments(since))
    return one, other


# --- forums ------------------------------------------------------------------------------------------


def _forums(tables: Tables, rng: np.random.Generator, people: People, friends: Lists) -> Scene:
    count = len(people.number)
    groups = np.flatnonzero(rng.random(count) < 0.3)
    owner = np.concatenate((np.arange(count), groups))
    wall = np.arange(len(owner)) < count
    number = 500_000 + np.arange(len(owner)) * 3
    created = people.created[owner] + (rng.random(len(owner)) * (END - people.created[owner]) * 0.5).astype(np.int64)
    tag = people.tastes[owner, rng.integers(0, 3, len(owner))]
    names = tables["Person"]["firstName"].to_numpy(zero_copy_only=False)[owner]
    tags = np.array(tables["Tag"]["name"].to_pylist())[tag]
    titles = [
        f"Wall of {name}" if own else f"Group for {of} in {name}"
        for own, name, of in zip(wall, names, tags, strict=True)
    ]
    tables["Forum"] = pa.table({"number": number, "title": titles, "creationDate": moments(created)})
    tables["HasModerator"] = edges(number, people.number[owner])
    second = people.tastes[owner, 0]
    pairs = np.unique(np.concatenate((np.arange(len(owner)) * 10_000 + tag, np.arange(len(owner)) * 10_000 + second)))
    tables["ForumTag"] = edges(number[pairs // 10_000], pairs % 10_000)
    forums = Forums(number, created, tag, owner)
    members, joined = _members(tables, rng, people, friends, forums)
    return Scene(tables, rng, people, forums, members, joined)


def _members(
    tables: Tables, rng: np.random.Generator, people: People, friends: Lists, forums: Forums
) -> tuple[Lists, Lists]:
    """The friends of the owner; a group also has friends of theirs."""
    count, total = len(people.number), len(forums.owner)
    sizes = friends.sizes(forums.owner)
    forum = np.repeat(np.arange(total), sizes)
    offset = np.arange(len(forum)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    direct = friends.items[friends.start[forums.owner[forum]] + offset]
    group = np.flatnonzero(forum >= count)
    wider = np.repeat(group, 2)
    indirect = friends.draw(rng, direct[wider])
    both, person = np.concatenate((forum, forum[wider])), np.concatenate((direct, indirect))
    pairs = np.unique(both * count + person)
    forum, person = pairs // count, pairs % count
    kept = (rng.random(len(pairs)) < 0.8) | (person == forums.owner[forum])
    forum, person = forum[kept], person[kept]
    begin = np.maximum(forums.created[forum], people.created[person])
    joined = begin + (rng.random(len(begin)) ** 2 * (END - begin)).astype(np.int64)
    tables["HasMember"] = edges(forums.number[forum], people.number[person], joinDate=moments(joined))
    return Lists.of(forum, person, total), Lists.of(forum, joined, total)


def write(tables: Tables, folder: Path) -> None:
    """One Parquet file for each table."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path, help="where the Parquet files go")
    options.add_argument("--people", type=int, default=1_000)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    made = generate(chosen.people, chosen.seed)
    write(made, chosen.folder)
    for name, table in made.items():
        print(f"{name:<16} {table.num_rows:>12,}")
