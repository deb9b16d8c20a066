"""One small graph that every integration reads."""

from __future__ import annotations

import pytest

import omnigraph as og

SCHEMA = """
node City { code: String @key  name: String  lat: F64  lon: F64?  hub: Bool  place: Vector(2)?  photo: Blob? }
node Line { slug: String @key  about: String @index }
edge Road: City -> City { miles: I32 }
edge Serves: Line -> City
"""
RECORDS = b"""
{"type":"City","data":{"code":"A","name":"Aarau","lat":1.5,"lon":2.5,"hub":true,"place":[1,2]}}
{"type":"City","data":{"code":"B","name":"Bern","lat":3.5,"hub":false}}
{"type":"City","data":{"code":"C","name":"Chur","lat":4.0,"lon":0.5,"hub":false,"place":[3,4]}}
{"type":"Line","data":{"slug":"red","about":"the red line goes to the lake"}}
{"type":"Line","data":{"slug":"blue","about":"the blue line climbs the hill"}}
{"edge":"Road","from":"A","to":"B","data":{"miles":7}}
{"edge":"Road","from":"A","to":"B","data":{"miles":9}}
{"edge":"Road","from":"B","to":"C","data":{"miles":20}}
{"edge":"Serves","from":"red","to":"C"}
"""


@pytest.fixture(scope="session")
def roads(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    made = og.init(tmp_path_factory.mktemp("roads") / "graph.omni", SCHEMA)
    made.load(RECORDS)
    return made
