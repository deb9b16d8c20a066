-- bi1
WITH counted AS (
  SELECT year(creationDate) AS y, comment,
    CASE WHEN length < 40 THEN 0 WHEN length < 80 THEN 1 WHEN length < 160 THEN 2 ELSE 3 END AS category,
    count(*) AS messages, avg(length) AS mean, sum(length)::BIGINT AS total
  FROM message WHERE creationDate < $before GROUP BY ALL
)
SELECT *, 100 * messages / (SELECT sum(messages) FROM counted)::DOUBLE FROM counted ORDER BY y DESC, comment, category

-- bi2
WITH counted AS (
  SELECT t.name, count(*) FILTER (m.creationDate < $start::TIMESTAMP + INTERVAL 100 DAY) AS one,
    count(*) FILTER (m.creationDate >= $start::TIMESTAMP + INTERVAL 100 DAY) AS two
  FROM TagClass k JOIN HasType h ON h."to" = k.number JOIN Tag t ON t.number = h."from"
  JOIN message_tag mt ON mt.tag = t.number JOIN message m ON m.number = mt.message
  WHERE k.name = $class AND m.creationDate >= $start AND m.creationDate < $start::TIMESTAMP + INTERVAL 200 DAY
  GROUP BY t.name
)
SELECT name, one, two, abs(one - two) AS diff FROM counted ORDER BY diff DESC, name LIMIT 100

-- bi3
SELECT f.number, f.title, f.creationDate, h."to", count(DISTINCT m.number) AS messages
FROM Country c JOIN lives l ON l.country = c.number JOIN HasModerator h ON h."to" = l.person
JOIN Forum f ON f.number = h."from" JOIN message m ON m.forum = f.number
JOIN message_tag mt ON mt.message = m.number JOIN HasType ht ON ht."from" = mt.tag
JOIN TagClass k ON k.number = ht."to"
WHERE c.name = $country AND k.name = $class GROUP BY ALL ORDER BY messages DESC, f.number LIMIT 20

-- bi4
WITH sizes AS (
  SELECT f.number, l.country, count(*) AS members
  FROM Forum f JOIN HasMember h ON h."from" = f.number JOIN lives l ON l.person = h."to"
  WHERE f.creationDate > $since GROUP BY ALL
), top AS (
  SELECT number FROM sizes GROUP BY number ORDER BY max(members) DESC, number LIMIT 100
), members AS (
  SELECT DISTINCT h."to" AS person FROM top JOIN HasMember h ON h."from" = top.number
)
SELECT p.number, p.firstName, p.lastName, p.creationDate, count(m.number) AS messages
FROM members JOIN Person p ON p.number = members.person
LEFT JOIN message m ON m.creator = p.number AND m.forum IN (SELECT number FROM top)
GROUP BY ALL ORDER BY messages DESC, p.number LIMIT 100

-- bi5
WITH counted AS (
  SELECT m.creator, m.number, (SELECT count(*) FROM message c WHERE c.parent = m.number) AS replies,
    (SELECT count(*) FROM likes l WHERE l.message = m.number) AS likes
  FROM Tag t JOIN message_tag mt ON mt.tag = t.number JOIN message m ON m.number = mt.message WHERE t.name = $tag
)
SELECT creator, sum(replies)::BIGINT AS r, sum(likes)::BIGINT AS l, count(*) AS m, (m + 2 * r + 10 * l)::BIGINT AS score
FROM counted GROUP BY creator ORDER BY score DESC, creator LIMIT 100

-- bi6
WITH popularity AS (
  SELECT m.creator, count(*) AS likes FROM message m JOIN likes l ON l.message = m.number GROUP BY m.creator
), fans AS (
  SELECT DISTINCT m.creator AS author, l.person
  FROM Tag t JOIN message_tag mt ON mt.tag = t.number JOIN message m ON m.number = mt.message
  LEFT JOIN likes l ON l.message = m.number WHERE t.name = $tag
)
SELECT author, coalesce(sum(likes), 0)::BIGINT AS authority
FROM fans LEFT JOIN popularity ON popularity.creator = fans.person GROUP BY author ORDER BY authority DESC, author LIMIT 100

-- bi7
SELECT r.name, count(DISTINCT c.number) AS replies
FROM Tag t JOIN message_tag mt ON mt.tag = t.number JOIN message c ON c.parent = mt.message
JOIN message_tag ct ON ct.message = c.number JOIN Tag r ON r.number = ct.tag
WHERE t.name = $tag
  AND NOT EXISTS (SELECT 1 FROM message_tag x WHERE x.message = c.number AND x.tag = t.number)
GROUP BY r.name ORDER BY replies DESC, r.name LIMIT 100

-- bi8
WITH scored AS (
  SELECT person, sum(points)::BIGINT AS score FROM (
    SELECT i."from" AS person, 100 AS points FROM Tag t JOIN HasInterest i ON i."to" = t.number WHERE t.name = $tag
    UNION ALL
    SELECT m.creator, 1 FROM Tag t JOIN message_tag mt ON mt.tag = t.number JOIN message m ON m.number = mt.message
    WHERE t.name = $tag AND m.creationDate > $start AND m.creationDate < $end
  ) GROUP BY person
)
SELECT s.person, s.score, coalesce(sum(o.score), 0)::BIGINT AS friends
FROM scored s LEFT JOIN friend f ON f.a = s.person LEFT JOIN scored o ON o.person = f.b
GROUP BY s.person, s.score ORDER BY s.score + friends DESC, s.person LIMIT 100

-- bi9
SELECT p.number, p.firstName, p.lastName, count(DISTINCT r.number), count(*) AS messages
FROM message r JOIN Person p ON p.number = r.creator JOIN message m ON m.root = r.number
WHERE NOT r.comment AND r.creationDate BETWEEN $start AND $end AND m.creationDate BETWEEN $start AND $end
GROUP BY ALL ORDER BY messages DESC, p.number LIMIT 100

-- bi10
WITH RECURSIVE near(person, distance) AS (
  SELECT $person::BIGINT, 0
  UNION
  SELECT f.b, n.distance + 1 FROM near n JOIN friend f ON f.a = n.person WHERE n.distance < 4
), experts AS (
  SELECT d.person FROM (SELECT person, min(distance) AS distance FROM near GROUP BY person) d
  JOIN lives l ON l.person = d.person JOIN Country c ON c.number = l.country
  WHERE c.name = $country AND d.distance IN (3, 4)
), about AS (
  SELECT DISTINCT m.creator, m.number FROM experts e JOIN message m ON m.creator = e.person
  JOIN message_tag mt ON mt.message = m.number JOIN HasType h ON h."from" = mt.tag
  JOIN TagClass k ON k.number = h."to" WHERE k.name = $class
)
SELECT a.creator, t.name, count(*) AS messages
FROM about a JOIN message_tag mt ON mt.message = a.number JOIN Tag t ON t.number = mt.tag
GROUP BY ALL ORDER BY messages DESC, t.name, a.creator LIMIT 100

-- bi11
WITH local AS (
  SELECT f.a, f.b FROM friend f JOIN lives x ON x.person = f.a JOIN lives y ON y.person = f.b
  JOIN Country c ON c.number = x.country AND c.number = y.country
  WHERE c.name = $country AND f.creationDate BETWEEN $start AND $end
)
SELECT count(*) FROM local x JOIN local y ON y.a = x.b JOIN local z ON z.a = y.b AND z.b = x.a
WHERE x.a < x.b AND y.a < y.b

-- bi12
WITH counted AS (
  SELECT p.number, count(m.number) AS messages
  FROM Person p LEFT JOIN (
    SELECT m.* FROM message m JOIN message r ON r.number = m.root
    WHERE m.content IS NOT NULL AND m.creationDate > $since AND m.length < $below
      AND r.language IN (SELECT unnest($languages))
  ) m ON m.creator = p.number
  GROUP BY p.number
)
SELECT messages, count(*) AS people FROM counted GROUP BY messages ORDER BY people DESC, messages DESC

-- bi13
WITH zombies AS (
  SELECT p.number FROM Country c JOIN lives l ON l.country = c.number JOIN Person p ON p.number = l.person
  LEFT JOIN message m ON m.creator = p.number AND m.creationDate < $end
  WHERE c.name = $country AND p.creationDate < $end
  GROUP BY p.number, p.creationDate HAVING count(m.number) < datediff('month', p.creationDate, $end::TIMESTAMP) + 1
)
SELECT z.number, count(o.number) AS theirs, count(f.number) AS likes,
  CASE WHEN count(f.number) = 0 THEN 0 ELSE count(o.number) / count(f.number) END AS score
FROM zombies z LEFT JOIN message m ON m.creator = z.number LEFT JOIN likes l ON l.message = m.number
LEFT JOIN Person f ON f.number = l.person AND f.creationDate < $end LEFT JOIN zombies o ON o.number = f.number
GROUP BY z.number ORDER BY score DESC, z.number LIMIT 100

-- bi14
WITH pairs AS (
  SELECT f.a, f.b, x.city,
    CASE WHEN EXISTS (SELECT 1 FROM message c JOIN message m ON m.number = c.parent
      WHERE c.creator = f.a AND m.creator = f.b) THEN 4 ELSE 0 END
    + CASE WHEN EXISTS (SELECT 1 FROM message c JOIN message m ON m.number = c.parent
      WHERE c.creator = f.b AND m.creator = f.a) THEN 1 ELSE 0 END
    + CASE WHEN EXISTS (SELECT 1 FROM likes l JOIN message m ON m.number = l.message
      WHERE l.person = f.a AND m.creator = f.b) THEN 10 ELSE 0 END
    + CASE WHEN EXISTS (SELECT 1 FROM likes l JOIN message m ON m.number = l.message
      WHERE l.person = f.b AND m.creator = f.a) THEN 1 ELSE 0 END AS score
  FROM friend f JOIN lives x ON x.person = f.a JOIN lives y ON y.person = f.b
  JOIN Country c ON c.number = x.country JOIN Country d ON d.number = y.country
  WHERE c.name = $one AND d.name = $other
)
SELECT a, b, t.name, score FROM pairs JOIN City t ON t.number = pairs.city
QUALIFY row_number() OVER (PARTITION BY city ORDER BY score DESC, a, b) = 1 ORDER BY score DESC, a, b

-- bi16
WITH written AS (
  SELECT m.creator, 'a' AS part, count(*) AS messages
  FROM Tag t JOIN message_tag mt ON mt.tag = t.number JOIN message m ON m.number = mt.message
  WHERE t.name = $tagA AND m.creationDate::DATE = $dayA GROUP BY m.creator
  UNION ALL
  SELECT m.creator, 'b', count(*)
  FROM Tag t JOIN message_tag mt ON mt.tag = t.number JOIN message m ON m.number = mt.message
  WHERE t.name = $tagB AND m.creationDate::DATE = $dayB GROUP BY m.creator
), kept AS (
  SELECT w.creator, w.part, w.messages
  FROM written w LEFT JOIN friend f ON f.a = w.creator LEFT JOIN written o ON o.creator = f.b AND o.part = w.part
  GROUP BY ALL HAVING count(o.creator) <= $most
)
SELECT a.creator, a.messages, b.messages FROM kept a JOIN kept b ON b.creator = a.creator
WHERE a.part = 'a' AND b.part = 'b' ORDER BY a.messages + b.messages DESC, a.creator LIMIT 20

-- bi17
WITH about AS (
  SELECT m.* FROM Tag t JOIN message_tag mt ON mt.tag = t.number JOIN message m ON m.number = mt.message
  WHERE t.name = $tag
)
SELECT m1.creator, count(DISTINCT m2.number) AS messages
FROM about c JOIN about m2 ON m2.number = c.parent
JOIN HasMember h2 ON h2."to" = m2.creator JOIN HasMember h3 ON h3."from" = h2."from" AND h3."to" = c.creator
JOIN about m1 ON m1.forum = h2."from"
WHERE m2.creator <> c.creator AND m1.forum <> m2.forum
  AND m2.creationDate > m1.creationDate + to_hours($hours::INTEGER)
  AND NOT EXISTS (SELECT 1 FROM HasMember h WHERE h."from" = m2.forum AND h."to" = m1.creator)
GROUP BY m1.creator ORDER BY messages DESC, m1.creator LIMIT 10

-- bi18
SELECT x."from", y."from", count(*) AS mutual
FROM Tag t JOIN HasInterest x ON x."to" = t.number JOIN friend f ON f.a = x."from" JOIN friend g ON g.a = f.b
JOIN HasInterest y ON y."from" = g.b AND y."to" = t.number
WHERE t.name = $tag AND x."from" <> y."from"
  AND NOT EXISTS (SELECT 1 FROM friend h WHERE h.a = x."from" AND h.b = y."from")
GROUP BY ALL ORDER BY mutual DESC, x."from", y."from" LIMIT 20

-- bi15
WITH RECURSIVE talks AS MATERIALIZED (
  SELECT c.creator AS a, m.creator AS b, CASE WHEN m.comment THEN 0.5 ELSE 1.0 END AS points
  FROM message c JOIN message m ON m.number = c.parent JOIN Forum f ON f.number = c.forum
  WHERE f.creationDate BETWEEN $start AND $end
), scores AS (
  SELECT least(a, b) AS a, greatest(a, b) AS b, sum(points) AS points FROM talks GROUP BY 1, 2
), weights AS MATERIALIZED (
  SELECT f.a, f.b, 1 / (1 + coalesce(s.points, 0))::DOUBLE AS weight
  FROM friend f LEFT JOIN scores s ON s.a = least(f.a, f.b) AND s.b = greatest(f.a, f.b)
), walks(person, cost, step) AS (
  SELECT $one::BIGINT, 0::DOUBLE, 0
  UNION ALL
  SELECT w.b, min(k.cost + w.weight), k.step + 1 FROM walks k JOIN weights w ON w.a = k.person
  WHERE k.step < 12 GROUP BY w.b, k.step
)
SELECT coalesce(min(cost), -1) FROM walks WHERE person = $other

-- bi19
WITH RECURSIVE talks AS MATERIALIZED (
  SELECT least(c.creator, m.creator) AS a, greatest(c.creator, m.creator) AS b, count(*) AS times
  FROM message c JOIN message m ON m.number = c.parent GROUP BY 1, 2
), weights AS MATERIALIZED (
  SELECT f.a, f.b, 1 / t.times::DOUBLE AS weight
  FROM friend f JOIN talks t ON t.a = least(f.a, f.b) AND t.b = greatest(f.a, f.b)
), walks(start, person, cost, step) AS (
  SELECT person, person, 0::DOUBLE, 0 FROM lives WHERE city = $one
  UNION ALL
  SELECT k.start, w.b, min(k.cost + w.weight), k.step + 1 FROM walks k JOIN weights w ON w.a = k.person
  WHERE k.step < 12 GROUP BY k.start, w.b, k.step
), found AS (
  SELECT k.start, k.person, min(k.cost) AS cost FROM walks k JOIN lives l ON l.person = k.person
  WHERE l.city = $other GROUP BY ALL
)
SELECT start, person, cost FROM found WHERE cost - (SELECT min(cost) FROM found) < 0.00001 ORDER BY start, person

-- bi20
WITH RECURSIVE weights AS MATERIALIZED (
  SELECT f.a, f.b, min(abs(s.classYear - t.classYear)) + 1 AS weight
  FROM friend f JOIN StudyAt s ON s."from" = f.a JOIN StudyAt t ON t."from" = f.b AND t."to" = s."to" GROUP BY f.a, f.b
), walks(person, cost, step) AS (
  SELECT $person::BIGINT, 0::BIGINT, 0
  UNION ALL
  SELECT w.b, min(k.cost + w.weight), k.step + 1 FROM walks k JOIN weights w ON w.a = k.person
  WHERE k.step < 16 GROUP BY w.b, k.step
), found AS (
  SELECT k.person, min(k.cost) AS cost FROM walks k JOIN WorkAt w ON w."from" = k.person
  JOIN Company c ON c.number = w."to" WHERE c.name = $company AND k.person <> $person GROUP BY k.person
)
SELECT person, cost FROM found WHERE cost = (SELECT min(cost) FROM found) ORDER BY cost, person LIMIT 20
