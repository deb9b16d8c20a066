-- ic1
WITH RECURSIVE near(person, distance) AS (
  SELECT $person::BIGINT, 0
  UNION
  SELECT f.b, n.distance + 1 FROM near n JOIN friend f ON f.a = n.person WHERE n.distance < 3
), found AS (
  SELECT p.*, d.distance FROM (SELECT person, min(distance) AS distance FROM near GROUP BY person) d
  JOIN Person p ON p.number = d.person WHERE p.firstName = $name AND d.distance > 0
  ORDER BY d.distance, p.lastName, p.number LIMIT 20
)
SELECT f.number, f.lastName, f.distance, f.birthday, f.creationDate, f.gender, f.browserUsed, f.locationIP, f.email,
  f.speaks, c.name,
  (SELECT coalesce(list(u.name || ' ' || s.classYear || ' ' || t.name ORDER BY u.name), [])
    FROM StudyAt s JOIN University u ON u.number = s."to" JOIN UniversityCity i ON i."from" = u.number
    JOIN City t ON t.number = i."to" WHERE s."from" = f.number),
  (SELECT coalesce(list(o.name || ' ' || w.workFrom || ' ' || t.name ORDER BY o.name), [])
    FROM WorkAt w JOIN Company o ON o.number = w."to" JOIN CompanyCountry i ON i."from" = o.number
    JOIN Country t ON t.number = i."to" WHERE w."from" = f.number)
FROM found f JOIN lives l ON l.person = f.number JOIN City c ON c.number = l.city
ORDER BY f.distance, f.lastName, f.number

-- ic2
SELECT p.number, p.firstName, p.lastName, m.number, coalesce(m.content, m.imageFile), m.creationDate
FROM friend f JOIN Person p ON p.number = f.b JOIN message m ON m.creator = p.number
WHERE f.a = $person AND m.creationDate <= $until ORDER BY m.creationDate DESC, m.number LIMIT 20

-- ic3
WITH near AS (
  SELECT b AS person FROM friend WHERE a = $person
  UNION SELECT g.b FROM friend f JOIN friend g ON g.a = f.b WHERE f.a = $person
), counted AS (
  SELECT p.number, p.firstName, p.lastName, count(*) FILTER (c.name = $x) AS xs, count(*) FILTER (c.name = $y) AS ys
  FROM near n JOIN Person p ON p.number = n.person JOIN lives l ON l.person = p.number
  JOIN Country h ON h.number = l.country JOIN message m ON m.creator = p.number JOIN Country c ON c.number = m.country
  WHERE n.person <> $person AND h.name NOT IN ($x, $y) AND c.name IN ($x, $y)
    AND m.creationDate >= $start AND m.creationDate < $start::TIMESTAMP + to_days($days::INTEGER)
  GROUP BY ALL
)
SELECT *, xs + ys FROM counted WHERE xs > 0 AND ys > 0 ORDER BY xs DESC, number LIMIT 20

-- ic4
SELECT t.name, count(*) AS posts
FROM friend f JOIN message m ON m.creator = f.b AND NOT m.comment JOIN message_tag mt ON mt.message = m.number
JOIN Tag t ON t.number = mt.tag
WHERE f.a = $person AND m.creationDate < $start::TIMESTAMP + to_days($days::INTEGER)
GROUP BY t.name HAVING min(m.creationDate) >= $start ORDER BY posts DESC, t.name LIMIT 10

-- ic5
WITH near AS (
  SELECT b AS person FROM friend WHERE a = $person
  UNION SELECT g.b FROM friend f JOIN friend g ON g.a = f.b WHERE f.a = $person
)
SELECT f.title, f.number, count(m.number) AS posts
FROM near n JOIN HasMember h ON h."to" = n.person JOIN Forum f ON f.number = h."from"
LEFT JOIN message m ON m.forum = f.number AND m.creator = n.person AND NOT m.comment
WHERE n.person <> $person AND h.joinDate > $since GROUP BY ALL ORDER BY posts DESC, f.number LIMIT 20

-- ic6
WITH near AS (
  SELECT b AS person FROM friend WHERE a = $person
  UNION SELECT g.b FROM friend f JOIN friend g ON g.a = f.b WHERE f.a = $person
)
SELECT t.name, count(*) AS posts
FROM near n JOIN message m ON m.creator = n.person AND NOT m.comment
JOIN message_tag given ON given.message = m.number JOIN Tag g ON g.number = given.tag AND g.name = $tag
JOIN message_tag other ON other.message = m.number AND other.tag <> given.tag JOIN Tag t ON t.number = other.tag
WHERE n.person <> $person GROUP BY t.name ORDER BY posts DESC, t.name LIMIT 10

-- ic7
WITH last AS (
  SELECT l.person, l.creationDate AS liked, m.number, m.creationDate, coalesce(m.content, m.imageFile) AS content
  FROM message m JOIN likes l ON l.message = m.number WHERE m.creator = $person
  QUALIFY row_number() OVER (PARTITION BY l.person ORDER BY l.creationDate DESC, m.number) = 1
)
SELECT p.number, p.firstName, p.lastName, l.liked, l.number, l.content,
  (epoch_ms(l.liked) - epoch_ms(l.creationDate)) // 60000,
  NOT EXISTS (SELECT 1 FROM friend f WHERE f.a = $person AND f.b = p.number)
FROM last l JOIN Person p ON p.number = l.person ORDER BY l.liked DESC, p.number LIMIT 20

-- ic8
SELECT p.number, p.firstName, p.lastName, c.creationDate, c.number, c.content
FROM message m JOIN message c ON c.parent = m.number JOIN Person p ON p.number = c.creator
WHERE m.creator = $person ORDER BY c.creationDate DESC, c.number LIMIT 20

-- ic9
WITH near AS (
  SELECT b AS person FROM friend WHERE a = $person
  UNION SELECT g.b FROM friend f JOIN friend g ON g.a = f.b WHERE f.a = $person
)
SELECT p.number, p.firstName, p.lastName, m.number, coalesce(m.content, m.imageFile), m.creationDate
FROM near n JOIN Person p ON p.number = n.person JOIN message m ON m.creator = p.number
WHERE n.person <> $person AND m.creationDate < $before ORDER BY m.creationDate DESC, m.number LIMIT 20

-- ic10
WITH near AS (
  SELECT g.b AS person FROM friend f JOIN friend g ON g.a = f.b WHERE f.a = $person
  EXCEPT SELECT b FROM friend WHERE a = $person
), liked AS (
  SELECT DISTINCT mt.message FROM HasInterest i JOIN message_tag mt ON mt.tag = i."to" WHERE i."from" = $person
)
SELECT p.number, p.firstName, p.lastName, 2 * count(liked.message) - count(m.number) AS score, p.gender, c.name
FROM near n JOIN Person p ON p.number = n.person JOIN lives l ON l.person = p.number JOIN City c ON c.number = l.city
LEFT JOIN message m ON m.creator = p.number AND NOT m.comment LEFT JOIN liked ON liked.message = m.number
WHERE n.person <> $person AND ((month(p.birthday) = $month AND day(p.birthday) >= 21)
  OR (month(p.birthday) = $month % 12 + 1 AND day(p.birthday) < 22))
GROUP BY ALL ORDER BY score DESC, p.number LIMIT 10

-- ic11
WITH near AS (
  SELECT b AS person FROM friend WHERE a = $person
  UNION SELECT g.b FROM friend f JOIN friend g ON g.a = f.b WHERE f.a = $person
)
SELECT p.number, p.firstName, p.lastName, o.name, w.workFrom
FROM near n JOIN Person p ON p.number = n.person JOIN WorkAt w ON w."from" = p.number
JOIN Company o ON o.number = w."to" JOIN CompanyCountry i ON i."from" = o.number
JOIN Country c ON c.number = i."to"
WHERE n.person <> $person AND c.name = $country AND w.workFrom < $year
ORDER BY w.workFrom, p.number, o.name DESC LIMIT 10

-- ic12
WITH RECURSIVE classes AS (
  SELECT number FROM TagClass WHERE name = $class
  UNION SELECT s."from" FROM classes c JOIN SubclassOf s ON s."to" = c.number
)
SELECT p.number, p.firstName, p.lastName, list_sort(list(DISTINCT t.name)), count(DISTINCT m.number) AS replies
FROM friend f JOIN Person p ON p.number = f.b JOIN message m ON m.creator = p.number AND m.comment
JOIN message r ON r.number = m.parent AND NOT r.comment JOIN message_tag mt ON mt.message = r.number
JOIN Tag t ON t.number = mt.tag JOIN HasType h ON h."from" = t.number JOIN classes c ON c.number = h."to"
WHERE f.a = $person GROUP BY ALL ORDER BY replies DESC, p.number LIMIT 20

-- ic13
WITH RECURSIVE near(person, distance) AS (
  SELECT $one::BIGINT, 0
  UNION
  SELECT f.b, n.distance + 1 FROM near n JOIN friend f ON f.a = n.person WHERE n.distance < 8
)
SELECT coalesce(min(distance), -1) FROM near WHERE person = $other

-- ic14
WITH RECURSIVE talks AS MATERIALIZED (
  SELECT least(c.creator, m.creator) AS a, greatest(c.creator, m.creator) AS b, count(*) AS times
  FROM message c JOIN message m ON m.number = c.parent GROUP BY 1, 2
), weights AS MATERIALIZED (
  SELECT f.a, f.b, greatest(round(40 - sqrt(t.times)), 1)::BIGINT AS weight
  FROM friend f JOIN talks t ON t.a = least(f.a, f.b) AND t.b = greatest(f.a, f.b)
), walks(person, cost, people, step) AS (
  SELECT $one::BIGINT, 0::BIGINT, $one::VARCHAR, 0
  UNION ALL
  SELECT b, cost, people, step FROM (
    SELECT w.b, k.cost + w.weight AS cost, k.people || ',' || w.b AS people, k.step + 1 AS step,
      row_number() OVER (PARTITION BY w.b ORDER BY k.cost + w.weight, k.people || ',' || w.b) AS place
    FROM walks k JOIN weights w ON w.a = k.person
    WHERE NOT contains(',' || k.people || ',', ',' || w.b || ',') AND k.step < 7
  ) WHERE place = 1
)
SELECT string_split(people, ',')::BIGINT[], cost FROM walks WHERE person = $other ORDER BY cost, step, people LIMIT 1
