-- ic1
MATCH (p:Person {number: $person})-[e:Knows* SHORTEST 1..3]-(f:Person) WHERE f.firstName = $name AND f.number <> $person
WITH f, length(e) AS distance ORDER BY distance, f.lastName, f.number LIMIT 20
MATCH (f)-[:LivesIn]->(c:City)
OPTIONAL MATCH (f)-[s:StudyAt]->(u:University)-[:UniversityCity]->(t:City)
WITH f, distance, c, collect(CASE WHEN t.name IS NOT NULL THEN u.name + ' ' + CAST(s.classYear AS STRING) + ' ' + t.name END) AS universities
OPTIONAL MATCH (f)-[w:WorkAt]->(o:Company)-[:CompanyCountry]->(k:Country)
WITH f, distance, c, universities, collect(CASE WHEN k.name IS NOT NULL THEN o.name + ' ' + CAST(w.workFrom AS STRING) + ' ' + k.name END) AS companies
RETURN f.number, f.lastName, distance, f.birthday, f.creationDate, f.gender, f.browserUsed, f.locationIP, f.email, f.speaks,
  c.name, coalesce(list_sort(universities), CAST([] AS STRING[])), coalesce(list_sort(companies), CAST([] AS STRING[]))
ORDER BY distance, f.lastName, f.number

-- ic2
MATCH (p:Person {number: $person})-[:Knows]-(f:Person)<-[:HasCreator]-(m:Message) WHERE m.creationDate <= $until
RETURN f.number, f.firstName, f.lastName, m.number, coalesce(m.content, m.imageFile), m.creationDate
ORDER BY m.creationDate DESC, m.number LIMIT 20

-- ic3
MATCH (p:Person {number: $person})-[:Knows* SHORTEST 1..2]-(f:Person) WHERE f.number <> $person
WITH DISTINCT f
MATCH (f)-[:LivesIn]->(:City)-[:PartOfCountry]->(h:Country) WHERE h.name <> $x AND h.name <> $y
MATCH (f)<-[:HasCreator]-(m:Message)-[:MessageCountry]->(c:Country)
WHERE m.creationDate >= $start AND m.creationDate < $until AND (c.name = $x OR c.name = $y)
WITH f, sum(CASE WHEN c.name = $x THEN 1 ELSE 0 END) AS xs, sum(CASE WHEN c.name = $y THEN 1 ELSE 0 END) AS ys
WHERE xs > 0 AND ys > 0
RETURN f.number, f.firstName, f.lastName, xs, ys, xs + ys ORDER BY xs DESC, f.number LIMIT 20

-- ic4
MATCH (p:Person {number: $person})-[:Knows]-(f:Person)<-[:HasCreator]-(m:Message)-[:HasTag]->(t:Tag)
WHERE NOT m.comment AND m.creationDate < $until
WITH t, count(*) AS posts, min(m.creationDate) AS first WHERE first >= $start
RETURN t.name, posts ORDER BY posts DESC, t.name LIMIT 10

-- ic5
MATCH (p:Person {number: $person})-[:Knows* SHORTEST 1..2]-(f:Person) WHERE f.number <> $person
WITH DISTINCT f
MATCH (f)<-[j:HasMember]-(g:Forum) WHERE j.joinDate > $since
OPTIONAL MATCH (g)-[:ContainerOf]->(m:Message)-[:HasCreator]->(f)
RETURN g.title, g.number, count(m) AS posts ORDER BY posts DESC, g.number LIMIT 20

-- ic6
MATCH (p:Person {number: $person})-[:Knows* SHORTEST 1..2]-(f:Person) WHERE f.number <> $person
WITH DISTINCT f
MATCH (f)<-[:HasCreator]-(m:Message)-[:HasTag]->(given:Tag {name: $tag}) WHERE NOT m.comment
MATCH (m)-[:HasTag]->(t:Tag) WHERE t.name <> $tag
RETURN t.name, count(*) AS posts ORDER BY posts DESC, t.name LIMIT 10

-- ic7
MATCH (p:Person {number: $person})<-[:HasCreator]-(m:Message)<-[l:Likes]-(f:Person)
WITH p, f, max(l.creationDate) AS liked
MATCH (p)<-[:HasCreator]-(m:Message)<-[l:Likes]-(f) WHERE l.creationDate = liked
WITH p, f, liked, min(m.number) AS message
MATCH (m:Message) WHERE m.number = message
RETURN f.number, f.firstName, f.lastName, liked, m.number, coalesce(m.content, m.imageFile),
  CAST(floor((to_epoch_ms(liked) - to_epoch_ms(m.creationDate)) / 60000) AS INT64), NOT EXISTS { MATCH (p)-[:Knows]-(f) }
ORDER BY liked DESC, f.number LIMIT 20

-- ic8
MATCH (p:Person {number: $person})<-[:HasCreator]-(m:Message)<-[:ReplyOf]-(c:Message)-[:HasCreator]->(a:Person)
RETURN a.number, a.firstName, a.lastName, c.creationDate, c.number, c.content
ORDER BY c.creationDate DESC, c.number LIMIT 20

-- ic9
MATCH (p:Person {number: $person})-[:Knows* SHORTEST 1..2]-(f:Person) WHERE f.number <> $person
WITH DISTINCT f
MATCH (f)<-[:HasCreator]-(m:Message) WHERE m.creationDate < $before
RETURN f.number, f.firstName, f.lastName, m.number, coalesce(m.content, m.imageFile), m.creationDate
ORDER BY m.creationDate DESC, m.number LIMIT 20

-- ic10
MATCH (p:Person {number: $person})-[e:Knows* SHORTEST 1..2]-(f:Person)
WHERE length(e) = 2 AND f.number <> $person AND (date_part('month', f.birthday) = $month AND date_part('day', f.birthday) >= 21
  OR date_part('month', f.birthday) = $month % 12 + 1 AND date_part('day', f.birthday) < 22)
MATCH (f)-[:LivesIn]->(c:City)
OPTIONAL MATCH (f)<-[:HasCreator]-(m:Message) WHERE NOT m.comment
OPTIONAL MATCH (m)-[:HasTag]->(t:Tag)<-[:HasInterest]-(p)
WITH f, c, m, count(t) AS common
WITH f, c, sum(CASE WHEN m.number IS NULL THEN 0 WHEN common > 0 THEN 1 ELSE -1 END) AS score
RETURN f.number, f.firstName, f.lastName, score, f.gender, c.name ORDER BY score DESC, f.number LIMIT 10

-- ic11
MATCH (p:Person {number: $person})-[:Knows* SHORTEST 1..2]-(f:Person) WHERE f.number <> $person
WITH DISTINCT f
MATCH (f)-[w:WorkAt]->(o:Company)-[:CompanyCountry]->(c:Country {name: $country}) WHERE w.workFrom < $year
RETURN f.number, f.firstName, f.lastName, o.name, w.workFrom ORDER BY w.workFrom, f.number, o.name DESC LIMIT 10

-- ic12
MATCH (top:TagClass {name: $class})<-[:SubclassOf*0..8]-(k:TagClass)<-[:HasType]-(t:Tag) WITH DISTINCT t
MATCH (p:Person {number: $person})-[:Knows]-(f:Person)<-[:HasCreator]-(c:Message)-[:ReplyOf]->(m:Message)-[:HasTag]->(t)
WHERE NOT m.comment
WITH f, list_sort(collect(DISTINCT t.name)) AS tags, count(DISTINCT c.number) AS replies
RETURN f.number, f.firstName, f.lastName, tags, replies ORDER BY replies DESC, f.number LIMIT 20

-- ic13
MATCH (a:Person {number: $one})-[e:Knows* SHORTEST 1..12]-(b:Person {number: $other}) RETURN length(e)
