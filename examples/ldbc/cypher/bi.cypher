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

-- bi9
MATCH (p:Person)<-[:HasCreator]-(r:Message)<-[:ReplyOf*0..8]-(m:Message)
WHERE NOT r.comment AND r.creationDate >= $start AND r.creationDate <= $until
  AND m.creationDate >= $start AND m.creationDate <= $until
RETURN p.number, p.firstName, p.lastName, count(DISTINCT r.number), count(m.number) AS messages
ORDER BY messages DESC, p.number LIMIT 100

-- bi11
MATCH (home:Country {name: $country})<-[:PartOfCountry]-(:City)<-[:LivesIn]-(a:Person)-[e:Knows]-(b:Person)-[f:Knows]-(c:Person)-[g:Knows]-(a)
MATCH (b)-[:LivesIn]->(:City)-[:PartOfCountry]->(home)
MATCH (c)-[:LivesIn]->(:City)-[:PartOfCountry]->(home)
WHERE a.number < b.number AND b.number < c.number
  AND e.creationDate >= $start AND e.creationDate <= $until AND f.creationDate >= $start AND f.creationDate <= $until
  AND g.creationDate >= $start AND g.creationDate <= $until
RETURN count(*)

-- bi18
MATCH (t:Tag {name: $tag})<-[:HasInterest]-(a:Person)-[:Knows]-(m:Person)-[:Knows]-(b:Person)-[:HasInterest]->(t)
WHERE a.number <> b.number AND NOT EXISTS { MATCH (a)-[:Knows]-(b) }
RETURN a.number, b.number, count(DISTINCT m.number) AS mutual ORDER BY mutual DESC, a.number, b.number LIMIT 20
