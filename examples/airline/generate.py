"""The six files of a small airline, with the defects that such files have; the same seed gives the same bytes."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import json
import math
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

AIRLINES = [
    ("KL", "Kestrel Lines"),
    ("NV", "Nordvind"),
    ("PX", "Pacific Express"),
    ("SB", "Sable Air"),
    ("TQ", "Trans-Quay"),
    ("UW", "Upwind, Inc."),
]
# Code, name, latitude, longitude, altitude in feet, hours from UTC, time zone.
AIRPORTS = [
    ("HRB", "Harbour City", 40.64, -73.78, 13, -5, "America/New_York"),
    ("MDW", 'Meadow Park "Old Field"', 41.79, -87.75, 620, -6, "America/Chicago"),
    ("LKE", "Lake Central", 43.11, -76.11, 421, -5, "America/New_York"),
    ("SND", "Sandstone", 33.43, -112.01, 1135, -7, "America/Phoenix"),
    ("PNE", "Pine\nRegional", 47.45, -122.31, 433, -8, "America/Los_Angeles"),
    ("ORC", "Orchard Valley", 37.36, -121.93, 62, -8, "America/Los_Angeles"),
    ("BLU", "Bluewater", 25.79, -80.29, 8, -5, "America/New_York"),
    ("MSA", "Mesa Grande", 35.04, -106.61, 5355, -7, "America/Denver"),
    ("CPR", "Copper Hill", 42.91, -106.46, 5350, -7, "America/Denver"),
    ("RVR", "Río Verde", 29.53, -98.47, 809, -6, "America/Chicago"),
    ("GLN", "Glen Harbor", 44.65, -63.51, 477, -4, "America/Halifax"),
    ("ICE", "Ísafjörður", 66.06, -23.13, 8, 0, "Atlantic/Reykjavik"),
]
ABROAD = ("QSJ", "QPB")  # flown to, but in no list of airports
HUBS = ("HRB", "MDW", "PNE")
MAKERS = [
    ("BOEING", "737-824", 149),
    ("AIRBUS", "A320-214", 182),
    ("EMBRAER", "ERJ 190-100", 20),
    ("CESSNA", "208B", 9),
]
FIRST = ["Ada", "Bo", "Chidi", "Dana", "Eun-ji", "Farah", "Günther", "Hana", "Iñigo", "João", "Kwame", "Lena"]
LAST = ["Abara", "Brandt", "Castaño", "Duarte", "Eklund", "Fiala", "Grünwald", "Hall", "Ito", "Jónsdóttir"]
BEGIN = dt.datetime(2024, 1, 1)


def generate(home: Path, *, flights: int = 3000, seed: int = 17) -> dict[str, int]:
    """Write the files into `home` and say how many rows each has."""
    home.mkdir(parents=True, exist_ok=True)
    chance = random.Random(seed)
    planes = _planes(chance)
    rows = _flights(chance, flights, [plane[0] for plane in planes])
    weather, pilots = _weather(chance), _pilots(chance)
    # A byte order mark, as spreadsheets write it.
    _write(home / "airlines.csv", ["Carrier Code", "Name"], AIRLINES, encoding="utf-8-sig")
    _write(home / "airports.csv", ["faa", "name", "lat", "lon", "alt", "tz", "tzone"], AIRPORTS)
    _write(home / "planes.csv", ["tailnum", "year", "manufacturer", "model", "engines", "seats", "speed"], planes)
    _write(home / "flights.csv.gz", list(rows[0]), [list(row.values()) for row in rows])
    with open(home / "weather.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in weather)
    # Western European text with semicolons and decimal commas, as some spreadsheets write it.
    head = ["Licence No", "Full Name", "base", "mentor", "hired", "Hours Flown", "pay grade", "active"]
    _write(home / "pilots.csv", head, pilots, delimiter=";", encoding="cp1252")
    return {
        "airlines": len(AIRLINES),
        "airports": len(AIRPORTS),
        "planes": len(planes),
        "flights": len(rows),
        "weather": len(weather),
        "pilots": len(pilots),
    }


def _planes(chance: random.Random) -> list[Sequence[object]]:
    found: list[Sequence[object]] = []
    for number in range(120):
        maker, model, seats = chance.choice(MAKERS)
        # Whole numbers with gaps, as data frames write them: 2004.0, and nothing where the year is unknown.
        year = "" if chance.random() < 0.08 else f"{chance.randint(1985, 2023)}.0"
        speed = "NA" if chance.random() < 0.7 else str(chance.choice((90, 126, 432)))
        found.append((f"N{100 + number}{chance.choice('ABCDEFG')}K", year, maker, model, 1 + (seats > 9), seats, speed))
    return found


def _flights(chance: random.Random, count: int, tails: Sequence[str]) -> list[dict[str, object]]:
    places = {airport[0]: (airport[2], airport[3]) for airport in AIRPORTS} | dict.fromkeys(ABROAD, (18.44, -66.0))
    targets = [code for code in places if code not in HUBS]
    found, last = [], BEGIN
    for number in range(count):
        last += dt.timedelta(minutes=chance.randint(1, 25))
        start, goal = chance.choice(HUBS), chance.choice(targets[:-2] if chance.random() > 0.02 else ABROAD)
        distance = _miles(places[start], places[goal])
        cancelled = chance.random() < 0.03
        delay = round(chance.gauss(6, 18))
        tail = chance.choice(tails) if chance.random() > 0.05 else f"N{900 + chance.randint(0, 20)}XX"
        found.append(
            {
                "year": last.year,
                "month": last.month,
                "day": last.day,
                "dep_time": "NA" if cancelled else _clock(last + dt.timedelta(minutes=delay)),
                "sched_dep_time": _clock(last),
                "dep_delay": "NA" if cancelled else delay,
                "carrier": chance.choice(AIRLINES)[0],
                "flight": 1 + number % 700,
                "tailnum": "NA" if cancelled and chance.random() < 0.6 else tail,
                "origin": start,
                "dest": goal,
                "air_time": "NA" if cancelled else f"{distance / 8:.1f}",
                "distance": distance,
                "time_hour": last.replace(minute=0).strftime("%Y-%m-%d %H:%M:%S"),
            }
        )
    return found


def _clock(at: dt.datetime) -> int:
    """Hours and minutes as one number, as timetables have it: 48 is twelve minutes to one."""
    return at.hour * 100 + at.minute


def _weather(chance: random.Random) -> Iterable[dict[str, object]]:
    found = []
    for hub in HUBS:
        for hour in range(24 * 14):
            at = BEGIN + dt.timedelta(hours=hour)
            gust = None if chance.random() < 0.7 else round(chance.uniform(15, 40), 2)
            temperature = round(30 + 8 * math.sin(hour / 4) + chance.gauss(0, 2), 1)
            # One station writes "calm" where the others write a number.
            wind = "calm" if hub == "PNE" and chance.random() < 0.05 else round(chance.uniform(0, 25), 1)
            parts = {"origin": hub, "year": at.year, "month": at.month, "day": at.day, "hour": at.hour}
            found.append(parts | {"temp": temperature, "wind_speed": wind, "wind_gust": gust})
    return found


def _pilots(chance: random.Random) -> list[Sequence[object]]:
    found: list[Sequence[object]] = []
    for number in range(60):
        licence = 7001 + number
        # The number of the mentor has gaps, so that the program that wrote the file made it a float.
        mentor = "" if number < 5 else f"{7001 + chance.randrange(number)}.0"
        hired = dt.date(2001, 1, 1) + dt.timedelta(days=chance.randrange(8000))
        hours = f"{chance.randint(300, 21000):,}".replace(",", ".")
        grade = f"{chance.uniform(1, 9):.1f}".replace(".", ",")
        name = f"{chance.choice(FIRST)} {chance.choice(LAST)}"
        base, active = chance.choice(HUBS), "yes" if chance.random() < 0.8 else "no"
        found.append((licence, name, base, mentor, hired.strftime("%d/%m/%Y"), hours, grade, active))
    return found


def _miles(start: tuple[float, float], goal: tuple[float, float]) -> int:
    lat, lon = (math.radians(goal[0] - start[0]), math.radians(goal[1] - start[1]))
    near = math.sin(lat / 2) ** 2
    far = math.cos(math.radians(start[0])) * math.cos(math.radians(goal[0])) * math.sin(lon / 2) ** 2
    return round(3959 * 2 * math.asin(math.sqrt(near + far)))


def _write(
    path: Path, head: Sequence[str], rows: Iterable[Sequence[object]], *, delimiter: str = ",", encoding: str = "utf-8"
) -> None:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(head)
        writer.writerows(rows)


if __name__ == "__main__":
    import sys

    print(generate(Path(sys.argv[1] if len(sys.argv) > 1 else "airline")))
