-- is1
SELECT p.firstName, p.lastName, p.birthday, p.locationIP, p.browserUsed, l.city, p.gender, p.creationDate
FROM Person p JOIN lives l ON l.person = p.number WHERE p.number = $person

-- is2
SELECT m.number, coalesce(m.content, r.imageFile), m.creationDate, r.number, a.number, a.firstName, a.lastName
FROM message m JOIN message r ON r.number = m.root JOIN Person a ON a.number = r.creator
WHERE m.creator = $person ORDER BY m.creationDate DESC, m.number DESC LIMIT 10

-- is3
SELECT p.number, p.firstName, p.lastName, f.creationDate
FROM friend f JOIN Person p ON p.number = f.b WHERE f.a = $person ORDER BY f.creationDate DESC, p.number

-- is4
SELECT creationDate, coalesce(content, imageFile) FROM message WHERE number = $message

-- is5
SELECT p.number, p.firstName, p.lastName FROM message m JOIN Person p ON p.number = m.creator
WHERE m.number = $message

-- is6
SELECT f.number, f.title, p.number, p.firstName, p.lastName
FROM message m JOIN Forum f ON f.number = m.forum JOIN HasModerator h ON h."from" = f.number
JOIN Person p ON p.number = h."to" WHERE m.number = $message

-- is7
SELECT c.number, c.content, c.creationDate, p.number, p.firstName, p.lastName,
  EXISTS (SELECT 1 FROM friend f WHERE f.a = p.number AND f.b = m.creator)
FROM message m JOIN message c ON c.parent = m.number JOIN Person p ON p.number = c.creator
WHERE m.number = $message ORDER BY c.creationDate DESC, p.number
