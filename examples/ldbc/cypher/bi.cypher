-- bi1
MATCH (m:Message) WHERE m.creationDate < $before
WITH count(*) AS whole
MATCH (m:Message) WHERE m.creationDate < $before
WITH whole, date_part('year', m.creationDate) AS year, m.comment AS kind, m.length AS size,
  CASE WHEN m.length < 40 THEN 0 WHEN m.length < 80 THEN 1 WHEN m.length < 160 THEN 2 ELSE 3 END AS category
WITH whole, year, kind, category, count(*) AS messages, avg(size) AS mean, sum(size) AS total
RETURN year, kind, category, messages, mean, total, 100.0 * messages / whole ORDER BY year DESC, kind, category

-- bi2
MATCH (k:TagClass {name: $class})<-[:HasType]-(t:Tag)<-[:HasTag]-(m:Message)
WHERE m.creationDate >= $start AND m.creationDate < $last
WITH t, sum(CASE WHEN m.creationDate < $middle THEN 1 ELSE 0 END) AS one,
  sum(CASE WHEN m.creationDate >= $middle THEN 1 ELSE 0 END) AS two
RETURN t.name, one, two, abs(one - two) AS difference ORDER BY difference DESC, t.name LIMIT 100

-- bi3
MATCH (c:Country {name: $country})<-[:PartOfCountry]-(:City)<-[:LivesIn]-(p:Person)<-[:HasModerator]-(f:Forum)
MATCH (f)-[:ContainerOf]->(r:Message)<-[:ReplyOf*0..8]-(m:Message)-[:HasTag]->(:Tag)-[:HasType]->(k:TagClass {name: $class})
RETURN f.number, f.title, f.creationDate, p.number, count(DISTINCT m.number) AS messages
ORDER BY messages DESC, f.number LIMIT 20

-- bi4
MATCH (f:Forum)-[:HasMember]->(p:Person)-[:LivesIn]->(:City)-[:PartOfCountry]->(c:Country) WHERE f.creationDate > $since
WITH f, c, count(p) AS members
WITH f, max(members) AS popularity
WITH f, popularity ORDER BY popularity DESC, f.number LIMIT 100
MATCH (f)-[:HasMember]->(p:Person)
WITH collect(DISTINCT f.number) AS top, collect(DISTINCT p.number) AS people
MATCH (p:Person) WHERE list_contains(people, p.number)
OPTIONAL MATCH (p)<-[:HasCreator]-(m:Message)-[:ReplyOf*0..8]->(r:Message)<-[:ContainerOf]-(f:Forum)
WHERE list_contains(top, f.number)
RETURN p.number, p.firstName, p.lastName, p.creationDate, count(m) AS messages ORDER BY messages DESC, p.number LIMIT 100

-- bi5
MATCH (t:Tag {name: $tag})<-[:HasTag]-(m:Message)-[:HasCreator]->(p:Person)
OPTIONAL MATCH (l:Person)-[:Likes]->(m)
WITH p, m, count(l) AS likes
OPTIONAL MATCH (m)<-[:ReplyOf]-(c:Message)
WITH p, m, likes, count(c) AS replies
WITH p, sum(replies) AS replies, sum(likes) AS likes, count(m) AS messages
RETURN p.number, replies, likes, messages, messages + 2 * replies + 10 * likes AS score
ORDER BY score DESC, p.number LIMIT 100

-- bi6
MATCH (t:Tag {name: $tag})<-[:HasTag]-(m:Message)-[:HasCreator]->(a:Person)
OPTIONAL MATCH (b:Person)-[:Likes]->(m)
WITH DISTINCT a, b
OPTIONAL MATCH (b)<-[:HasCreator]-(n:Message)<-[l:Likes]-(:Person)
RETURN a.number, count(l) AS authority ORDER BY authority DESC, a.number LIMIT 100

-- bi7
MATCH (t:Tag {name: $tag})<-[:HasTag]-(m:Message)<-[:ReplyOf]-(c:Message)-[:HasTag]->(r:Tag)
WHERE NOT EXISTS { MATCH (c)-[:HasTag]->(x:Tag) WHERE x.name = $tag }
RETURN r.name, count(DISTINCT c.number) AS replies ORDER BY replies DESC, r.name LIMIT 100

-- bi8
MATCH (t:Tag {name: $tag}), (p:Person)
OPTIONAL MATCH (p)<-[:HasCreator]-(m:Message)-[:HasTag]->(t) WHERE m.creationDate > $start AND m.creationDate < $until
WITH t, p, count(m) AS messages
OPTIONAL MATCH (p)-[i:HasInterest]->(t)
WITH p, messages, count(i) AS interest
WHERE messages + interest > 0
MATCH (p)-[:Knows*0..1]-(f:Person)
WITH f.number AS person, sum(CASE WHEN p.number = f.number THEN messages + 100 * interest ELSE 0 END) AS score,
  sum(CASE WHEN p.number = f.number THEN 0 ELSE messages + 100 * interest END) AS others
WITH person, score, others, score + others AS both WHERE score > 0
RETURN person, score, others ORDER BY both DESC, person LIMIT 100

-- bi9
MATCH (p:Person)<-[:HasCreator]-(r:Message)<-[:ReplyOf*0..8]-(m:Message)
WHERE NOT r.comment AND r.creationDate >= $start AND r.creationDate <= $until
  AND m.creationDate >= $start AND m.creationDate <= $until
WITH p, r, count(m) AS answers
WITH p, count(r) AS threads, sum(answers) AS messages
RETURN p.number, p.firstName, p.lastName, threads, messages
ORDER BY messages DESC, p.number LIMIT 100

-- bi10
MATCH (p:Person {number: $person})-[e:Knows* SHORTEST 1..4]-(x:Person)-[:LivesIn]->(:City)-[:PartOfCountry]->(c:Country {name: $country})
WHERE length(e) >= 3
MATCH (x)<-[:HasCreator]-(m:Message)
WHERE EXISTS { MATCH (m)-[:HasTag]->(:Tag)-[:HasType]->(k:TagClass) WHERE k.name = $class }
MATCH (m)-[:HasTag]->(t:Tag)
RETURN x.number, t.name, count(m) AS messages ORDER BY messages DESC, t.name, x.number LIMIT 100

-- bi11
MATCH (:Country {name: $country})<-[:PartOfCountry]-(:City)<-[:LivesIn]-(p:Person)
WITH collect(p.number) AS here
MATCH (a:Person)-[e:Knows]-(b:Person)-[f:Knows]-(c:Person)
WHERE a.number < b.number AND b.number < c.number
  AND list_contains(here, a.number) AND list_contains(here, b.number) AND list_contains(here, c.number)
  AND e.creationDate >= $start AND e.creationDate <= $until AND f.creationDate >= $start AND f.creationDate <= $until
  AND EXISTS { MATCH (a)-[g:Knows]-(c) WHERE g.creationDate >= $start AND g.creationDate <= $until }
RETURN count(*)

-- bi12
MATCH (p:Person)
OPTIONAL MATCH (p)<-[:HasCreator]-(m:Message)-[:ReplyOf*0..8]->(r:Message)
WHERE m.content IS NOT NULL AND m.creationDate > $since AND m.length < $below
  AND NOT r.comment AND list_contains($languages, r.language)
WITH p, count(m) AS messages
RETURN messages, count(p) AS people ORDER BY people DESC, messages DESC

-- bi13
MATCH (h:Country {name: $country})<-[:PartOfCountry]-(:City)<-[:LivesIn]-(z:Person) WHERE z.creationDate < $until
OPTIONAL MATCH (z)<-[:HasCreator]-(m:Message) WHERE m.creationDate < $until
WITH z, count(m) AS messages, (date_part('year', $until) - date_part('year', z.creationDate)) * 12
  + date_part('month', $until) - date_part('month', z.creationDate) + 1 AS months
WHERE messages < months
WITH collect(z.number) AS zombies
MATCH (z:Person) WHERE list_contains(zombies, z.number)
OPTIONAL MATCH (z)<-[:HasCreator]-(:Message)<-[:Likes]-(f:Person) WHERE f.creationDate < $until
WITH zombies, z, count(f) AS likes
OPTIONAL MATCH (z)<-[:HasCreator]-(:Message)<-[:Likes]-(f:Person)
WHERE f.creationDate < $until AND list_contains(zombies, f.number)
WITH z, likes, count(f) AS theirs
RETURN z.number, theirs, likes, CASE WHEN likes = 0 THEN 0.0 ELSE CAST(theirs AS DOUBLE) / likes END AS score
ORDER BY score DESC, z.number LIMIT 100

-- bi14
MATCH (here:Country {name: $one})<-[:PartOfCountry]-(city:City)<-[:LivesIn]-(a:Person)-[:Knows]-(b:Person)
MATCH (b)-[:LivesIn]->(:City)-[:PartOfCountry]->(there:Country {name: $other})
WITH city, a.number AS one, b.number AS other,
  CASE WHEN EXISTS { MATCH (a)<-[:HasCreator]-(:Message)-[:ReplyOf]->(:Message)-[:HasCreator]->(b) } THEN 4 ELSE 0 END
  + CASE WHEN EXISTS { MATCH (b)<-[:HasCreator]-(:Message)-[:ReplyOf]->(:Message)-[:HasCreator]->(a) } THEN 1 ELSE 0 END
  + CASE WHEN EXISTS { MATCH (a)-[:Likes]->(:Message)-[:HasCreator]->(b) } THEN 10 ELSE 0 END
  + CASE WHEN EXISTS { MATCH (b)-[:Likes]->(:Message)-[:HasCreator]->(a) } THEN 1 ELSE 0 END AS score
WITH city, max(score) AS best, collect({one: one, other: other, score: score}) AS pairs
UNWIND pairs AS pair
WITH city, best, pair WHERE pair.score = best
WITH city, best, min(pair.one) AS first, collect(pair) AS pairs
UNWIND pairs AS pair
WITH city, best, first, pair WHERE pair.one = first
WITH city, best, first, min(pair.other) AS friend
RETURN first, friend, city.name, best ORDER BY best DESC, first, friend

-- bi16
MATCH (:Tag {name: $tagA})<-[:HasTag]-(m:Message)-[:HasCreator]->(p:Person) WHERE CAST(m.creationDate AS DATE) = $dayA
WITH p, count(m) AS one
OPTIONAL MATCH (p)-[:Knows]-(f:Person)<-[:HasCreator]-(n:Message)-[:HasTag]->(t:Tag)
WHERE t.name = $tagA AND CAST(n.creationDate AS DATE) = $dayA
WITH p, one, count(DISTINCT f.number) AS friends WHERE friends <= $most
MATCH (:Tag {name: $tagB})<-[:HasTag]-(m:Message)-[:HasCreator]->(p) WHERE CAST(m.creationDate AS DATE) = $dayB
WITH p, one, count(m) AS two
OPTIONAL MATCH (p)-[:Knows]-(f:Person)<-[:HasCreator]-(n:Message)-[:HasTag]->(t:Tag)
WHERE t.name = $tagB AND CAST(n.creationDate AS DATE) = $dayB
WITH p, one, two, count(DISTINCT f.number) AS friends WHERE friends <= $most
RETURN p.number, one, two ORDER BY one + two DESC, p.number LIMIT 20

-- bi17
MATCH (t:Tag {name: $tag})<-[:HasTag]-(m2:Message)<-[:ReplyOf]-(c:Message)-[:HasTag]->(u:Tag {name: $tag})
MATCH (m2)-[:HasCreator]->(p2:Person), (c)-[:HasCreator]->(p3:Person), (m2)-[:ReplyOf*0..8]->(:Message)<-[:ContainerOf]-(g:Forum)
WHERE p2.number <> p3.number
MATCH (t)<-[:HasTag]-(m1:Message)-[:HasCreator]->(p1:Person), (m1)-[:ReplyOf*0..8]->(:Message)<-[:ContainerOf]-(f:Forum)
WHERE f.number <> g.number AND m2.creationDate > m1.creationDate + to_hours($hours)
  AND EXISTS { MATCH (f)-[:HasMember]->(p2) } AND EXISTS { MATCH (f)-[:HasMember]->(p3) }
  AND NOT EXISTS { MATCH (g)-[:HasMember]->(p1) }
RETURN p1.number, count(DISTINCT m2.number) AS messages ORDER BY messages DESC, p1.number LIMIT 10

-- bi18
MATCH (t:Tag {name: $tag})<-[:HasInterest]-(a:Person)-[:Knows]-(m:Person)-[:Knows]-(b:Person)-[:HasInterest]->(t)
WHERE a.number <> b.number AND NOT EXISTS { MATCH (a)-[:Knows]-(b) }
RETURN a.number, b.number, count(DISTINCT m.number) AS mutual ORDER BY mutual DESC, a.number, b.number LIMIT 20
