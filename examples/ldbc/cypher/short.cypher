-- is1
MATCH (p:Person {number: $person})-[:LivesIn]->(c:City)
RETURN p.firstName, p.lastName, p.birthday, p.locationIP, p.browserUsed, c.number, p.gender, p.creationDate

-- is2
MATCH (p:Person {number: $person})<-[:HasCreator]-(m:Message)
WITH m ORDER BY m.creationDate DESC, m.number DESC LIMIT 10
MATCH (m)-[:ReplyOf*0..8]->(r:Message)-[:HasCreator]->(a:Person) WHERE NOT r.comment
RETURN m.number, coalesce(m.content, r.imageFile), m.creationDate, r.number, a.number, a.firstName, a.lastName
ORDER BY m.creationDate DESC, m.number DESC

-- is3
MATCH (p:Person {number: $person})-[k:Knows]-(f:Person)
RETURN f.number, f.firstName, f.lastName, k.creationDate ORDER BY k.creationDate DESC, f.number

-- is4
MATCH (m:Message {number: $message}) RETURN m.creationDate, coalesce(m.content, m.imageFile)

-- is5
MATCH (m:Message {number: $message})-[:HasCreator]->(p:Person) RETURN p.number, p.firstName, p.lastName

-- is6
MATCH (m:Message {number: $message})-[:ReplyOf*0..8]->(r:Message)<-[:ContainerOf]-(f:Forum)-[:HasModerator]->(p:Person)
RETURN f.number, f.title, p.number, p.firstName, p.lastName

-- is7
MATCH (a:Person)<-[:HasCreator]-(m:Message {number: $message})<-[:ReplyOf]-(c:Message)-[:HasCreator]->(p:Person)
RETURN c.number, c.content, c.creationDate, p.number, p.firstName, p.lastName, EXISTS { MATCH (p)-[:Knows]-(a) }
ORDER BY c.creationDate DESC, p.number
