"""The fixture of the query language's conformance cases: four huts, three wardens, paths and guards."""

from __future__ import annotations

SCHEMA = """
node Hut {
  code: String @key
  name: String @index
  alt: I32?
  open: Bool?
  grade: enum(a, b, c)?
  tags: [String]?
  built: Date?
  seen: DateTime?
  vec: Vector(2)?
  pic: Blob?
}
node Warden { badge: String @key  name: String  age: I32? }
edge Path: Hut -> Hut { minutes: I32? }
edge Guards: Warden -> Hut { since: Date? }
"""

# One record a line, in the load format.
RECORDS = """
{"type":"Hut","data":{"code":"h1","name":"Alm","alt":1200,"open":true,"grade":"a","tags":["wood","stove"],"vec":[0,0]}}
{"type":"Hut","data":{"code":"h2","name":"Alpin Rest","alt":1800,"open":false,"grade":"b","tags":["stove"],"vec":[1,0]}}
{"type":"Hut","data":{"code":"h3","name":"Bergheim","vec":[3,0]}}
{"type":"Hut","data":{"code":"h4","name":"Cabin","alt":1800,"open":true,"grade":"c","tags":[]}}
{"type":"Warden","data":{"badge":"w1","name":"Ilse","age":40}}
{"type":"Warden","data":{"badge":"w2","name":"Bruno","age":30}}
{"type":"Warden","data":{"badge":"w3","name":"Cleo"}}
{"edge":"Path","from":"h1","to":"h2","data":{"id":"p1","minutes":40}}
{"edge":"Path","from":"h2","to":"h3","data":{"id":"p2","minutes":60}}
{"edge":"Path","from":"h3","to":"h1","data":{"id":"p3","minutes":90}}
{"edge":"Path","from":"h1","to":"h2","data":{"id":"p4","minutes":55}}
{"edge":"Path","from":"h4","to":"h4","data":{"id":"p5","minutes":10}}
{"edge":"Path","from":"h1","to":"h4","data":{"id":"p6"}}
{"edge":"Guards","from":"w1","to":"h1","data":{"id":"g1","since":"2020-01-01"}}
{"edge":"Guards","from":"w1","to":"h2","data":{"id":"g2"}}
{"edge":"Guards","from":"w2","to":"h2","data":{"id":"g3","since":"2023-06-01"}}
"""

# An earlier state of some of them, for indexes that were built before the rest came.
EARLIER = """
{"type":"Hut","data":{"code":"h1","name":"Alpin Cabin","alt":1800,"vec":[9,9]}}
{"type":"Hut","data":{"code":"h4","name":"Rest","alt":1,"open":false,"tags":["stove"],"vec":[0,0]}}
{"type":"Warden","data":{"badge":"w1","name":"Bruno","age":30}}
{"edge":"Path","from":"h1","to":"h4","data":{"id":"p6","minutes":70}}
{"edge":"Guards","from":"w1","to":"h4","data":{"id":"g1","since":"2021-01-01"}}
"""
