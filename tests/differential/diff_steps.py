"""What traversals mean, as tables that DuckDB derives from the edges: steps, distances, ways back, shortest paths."""

from __future__ import annotations

from diff_tree import Step, Way
from diff_world import World


class Steps:
    """Makes the tables of one world as they are asked for."""

    def __init__(self, world: World) -> None:
        self.world = world

    def test(self, step: Step) -> str:
        """Whether two nodes are linked, or linked by the bound edge, or the ends of the bound path."""
        left, right = f'"{step.left}"', f'"{step.right}"'
        if step.edge_var is not None:
            return "(" + " OR ".join(_joins(way, step, f'"{step.edge_var}"') for way in step.ways) + ")"
        if step.path_var is not None:
            path = f'"{step.path_var}"'
            return (
                f"({path}.st = {left}._t AND {path}.s = {left}.id AND {path}.tt = {right}._t AND {path}.t = {right}.id)"
            )
        found = self._reach(step)
        ends = f"r.st = {left}._t AND r.s = {left}.id AND r.tt = {right}._t AND r.t = {right}.id"
        return f"EXISTS (SELECT 1 FROM {found} AS r WHERE {ends})"

    def _reach(self, step: Step) -> str:
        """(st, s, tt, t, hops): the pairs of a traversal, with the fewest hops within its bounds."""
        name = self._tables(step)
        low, most = step.bounds
        high = 1_000_000 if most is None else most
        if step.left == step.right:
            return f"(SELECT st, s, st AS tt, s AS t, d AS hops FROM {name}_back WHERE d BETWEEN {low} AND {high})"
        loop = f"EXISTS (SELECT 1 FROM {name}_step l WHERE l.st = x.tt AND l.s = x.t AND l.tt = x.tt AND l.t = x.t)"
        hops = (
            f"CASE WHEN (x.d > 0 OR {low} = 0) AND x.d BETWEEN {low} AND {high} THEN x.d "
            f"WHEN {loop} AND x.d + 1 BETWEEN {low} AND {high} THEN x.d + 1 END"
        )
        return f"(SELECT * FROM (SELECT st, s, tt, t, {hops} AS hops FROM {name}_dist x) WHERE hops IS NOT NULL)"

    def paths(self, step: Step) -> str:
        """The same with the shortest path of each pair: its length, and the ids of its nodes."""
        name = self._tables(step)
        if step.path != "shortest":
            return f"(SELECT 'path' AS _t, 'path' AS id, * FROM {self._kind(name, step)})"
        if step.left == step.right:
            nodes = f"SELECT r.*, [n.id FOR n IN c.nodes] AS nodes FROM {self._reach(step)} r JOIN {name}_cycle c USING (st, s)"
        else:
            nodes = (
                "SELECT r.*, CASE WHEN r.hops > len(p.nodes) - 1 THEN list_append([n.id FOR n IN p.nodes], r.t) "
                f"ELSE [n.id FOR n IN p.nodes] END AS nodes FROM {self._reach(step)} r JOIN {name}_path p USING (st, s, tt, t)"
            )
        return (
            f"(SELECT 'path' AS _t, 'path' AS id, st, s, tt, t, CAST(hops AS BIGINT) AS length, nodes FROM ({nodes}))"
        )

    def scores(self, word: str) -> str:
        """(id, score): BM25 of one word over the texts of all persons, of those that have it."""
        key = ("bm25", word)
        if key not in self.world.tables:
            name = self.world.tables[key] = f"bm25_{len(self.world.tables)}"
            self.world.db.execute(
                f"""CREATE TABLE {name} AS
                WITH texts AS (
                  SELECT id, list_filter(regexp_split_to_array(lower(words), '[^a-z]+'), lambda x: x <> '') AS tokens
                  FROM Person WHERE words IS NOT NULL),
                counted AS (SELECT id, len(tokens) AS size, len(list_filter(tokens, lambda x: x = '{word}')) AS often FROM texts),
                whole AS (SELECT count(*) AS texts, avg(size) AS mean, count(*) FILTER (often > 0) AS holders FROM counted)
                SELECT id, ln(1 + (texts - holders + 0.5) / (holders + 0.5))
                  * (often * 2.2 / (often + 1.2 * (0.25 + 0.75 * size / mean))) AS score
                FROM counted, whole WHERE often > 0"""
            )
        return self.world.tables[key]

    # --- derived tables ---------------------------------------------------------------------------

    def _kind(self, name: str, step: Step) -> str:
        """(st, s, tt, t, length, nodes, cost) of other paths; those of several between two ends as `place` orders them."""
        if (name, step.path) not in self.world.tables:
            self.world.tables[name, step.path] = found = f"{name}_{step.path.replace(' ', '_')}"
            word, *more = step.path.split()
            made = self._first(name, step) if more == ["2"] else getattr(self, f"_{word}")(name, step)
            self.world.db.execute(f"CREATE TABLE {found} AS {made}")
            if word == "all" or more or word == "simple":
                self._describe(name, found, step)
        return self.world.tables[name, step.path]

    def _all(self, name: str, step: Step) -> str:
        loop = f"SELECT st, s, tt, t, 1, [s, s] FROM {name}_step WHERE (st, s) = (tt, t)"
        return f"""WITH RECURSIVE path(st, s, tt, t, d, nodes) AS (
              SELECT st, s, tt, t, 0, [s] FROM {name}_dist WHERE d = 0
              UNION
              SELECT p.st, p.s, e.tt, e.t, p.d + 1, list_append(p.nodes, e.t)
              FROM path p JOIN {name}_step e ON e.st = p.tt AND e.s = p.t
              JOIN {name}_dist x ON x.st = p.st AND x.s = p.s AND x.tt = e.tt AND x.t = e.t AND x.d = p.d + 1
            ) SELECT st, s, tt, t, CAST(d AS BIGINT) AS length, nodes, nodes AS place
            FROM (SELECT * FROM path WHERE d > 0 UNION {loop})"""

    def _simple(self, name: str, step: Step) -> str:
        return f"""WITH RECURSIVE path(st, s, tt, t, d, nodes) AS (
              SELECT st, s, tt, t, 0, [s] FROM {name}_dist WHERE d = 0
              UNION
              SELECT p.st, p.s, e.tt, e.t, p.d + 1, list_append(p.nodes, e.t)
              FROM path p JOIN {name}_step e ON e.st = p.tt AND e.s = p.t
              WHERE p.d < 3 AND NOT list_contains(p.nodes, e.t)
            ) SELECT st, s, tt, t, CAST(d AS BIGINT) AS length, nodes, {{'d': d, 'nodes': nodes}} AS place
            FROM path WHERE d > 0"""

    def _first(self, name: str, step: Step) -> str:
        """The first two paths that meet no node twice, by what they cost, by their length, by their nodes."""
        costs = step.path.startswith("cheapest")
        steps = self._edges(step, costs=costs)
        return f"""WITH RECURSIVE step AS ({steps}), path(st, s, tt, t, d, cost, nodes) AS (
              SELECT st, s, tt, t, 0, 0::BIGINT, [s] FROM {name}_dist WHERE d = 0
              UNION
              SELECT p.st, p.s, e.tt, e.t, p.d + 1, p.cost + e.cost, list_append(p.nodes, e.t)
              FROM path p JOIN step e ON e.st = p.tt AND e.s = p.t WHERE NOT list_contains(p.nodes, e.t)
            ) SELECT st, s, tt, t, CAST(d AS BIGINT) AS length, nodes, CAST(cost AS DOUBLE) AS cost,
              row_number() OVER (PARTITION BY st, s, tt, t ORDER BY cost, d, nodes) AS place
            FROM path WHERE d > 0 QUALIFY place <= 2"""

    def _edges(self, step: Step, *, costs: bool) -> str:
        """(st, s, tt, t, cost, edge): of parallel edges the one that costs least, then the one whose id comes first."""
        found = " UNION ALL ".join(
            _pairs(way, undirected=step.undirected, cost=True, least=step.least) for way in step.ways
        )
        cost = "cost" if costs else "0::BIGINT AS cost"
        return (
            f"SELECT st, s, tt, t, min((cost, edge))[1] AS cost, min((cost, edge))[2] AS edge "
            f"FROM (SELECT st, s, tt, t, edge, {cost} FROM ({found})) WHERE cost IS NOT NULL GROUP BY st, s, tt, t"
        )

    def _describe(self, name: str, found: str, step: Step) -> None:
        """The edges of paths between persons, and what their nodes have; nulls are left out."""
        run = self.world.db.execute
        edges = run(self._edges(step, costs=step.path.startswith("cheapest"))).fetchall()
        taken = _map({f"{s} {t}": edge for _, s, _, t, _, edge in edges}, "VARCHAR")
        run(f'ALTER TABLE {found} ADD COLUMN "edges" VARCHAR[]')
        pairs = "list_transform(nodes[:-2], lambda x, i: x || ' ' || nodes[i + 1])"
        run(f"UPDATE {found} SET edges = list_transform({pairs}, lambda x: {taken}[x])")
        for property, stored in (("n", "BIGINT"), ("name", "VARCHAR")):
            values = _map({row["id"]: row[property] for row in self.world.rows["Person"]}, stored)
            run(f'ALTER TABLE {found} ADD COLUMN "nodes.{property}" {stored}[]')
            listed = f"list_transform(nodes, lambda x: {values}[x])"
            run(f'UPDATE {found} SET "nodes.{property}" = list_filter({listed}, lambda x: x IS NOT NULL)')

    def _cheapest(self, name: str, step: Step) -> str:
        nodes = len(self.world.rows["Person"])
        found = " UNION ALL ".join(
            _pairs(way, undirected=step.undirected, cost=True, least=step.least) for way in step.ways
        )
        return f"""WITH RECURSIVE step AS (
              SELECT st, s, tt, t, min(cost) AS cost FROM ({found}) WHERE cost IS NOT NULL GROUP BY st, s, tt, t
            ), walk(st, s, tt, t, d, cost) AS (
              SELECT st, s, tt, t, 1, cost FROM step
              UNION
              SELECT w.st, w.s, e.tt, e.t, w.d + 1, w.cost + e.cost
              FROM walk w JOIN step e ON e.st = w.tt AND e.s = w.t WHERE w.d < {nodes}
            ) SELECT st, s, tt, t, CAST(min((cost, d))[2] AS BIGINT) AS length, CAST(min(cost) AS DOUBLE) AS cost
            FROM walk WHERE (st, s) <> (tt, t) GROUP BY st, s, tt, t"""

    def _tables(self, step: Step) -> str:
        key = (frozenset(step.ways), step.undirected, step.least)
        if key not in self.world.tables:
            self.world.tables[key] = f"t{len(self.world.tables)}"
            self._derive(self.world.tables[key], step)
        return self.world.tables[key]

    def _derive(self, name: str, step: Step) -> None:
        run = self.world.db.execute
        run(
            f"CREATE TABLE {name}_step AS {' UNION '.join(_pairs(way, undirected=step.undirected, least=step.least) for way in step.ways)}"
        )
        # Breadth first: a pair is kept with each number of hops up to as many as there are nodes.
        nodes = sum(len(self.world.rows[kind]) for kind in ("Person", "Firm"))
        run(
            f"""CREATE TABLE {name}_walk AS WITH RECURSIVE walk(st, s, tt, t, d) AS (
              SELECT st, s, tt, t, 1 FROM {name}_step
              UNION
              SELECT w.st, w.s, e.tt, e.t, w.d + 1 FROM walk w JOIN {name}_step e ON e.st = w.tt AND e.s = w.t WHERE w.d < {nodes}
            ) SELECT st, s, tt, t, min(d) AS d FROM walk GROUP BY st, s, tt, t"""
        )
        everything = "SELECT _t, id FROM Person UNION ALL SELECT _t, id FROM Firm"
        run(
            f"""CREATE TABLE {name}_dist AS
            SELECT st, s, tt, t, d FROM {name}_walk WHERE (st, s) <> (tt, t)
            UNION ALL SELECT _t, id, _t, id, 0 FROM ({everything})"""
        )
        run(f"CREATE TABLE {name}_back AS SELECT st, s, d FROM {name}_walk WHERE (st, s) = (tt, t)")
        run(
            f"""CREATE TABLE {name}_path AS WITH RECURSIVE path(st, s, tt, t, d, nodes) AS (
              SELECT st, s, tt, t, 0, [{{'id': s, 't': st}}] FROM {name}_dist WHERE d = 0
              UNION
              SELECT p.st, p.s, e.tt, e.t, p.d + 1, list_append(p.nodes, {{'id': e.t, 't': e.tt}})
              FROM path p JOIN {name}_step e ON e.st = p.tt AND e.s = p.t
              JOIN {name}_dist x ON x.st = p.st AND x.s = p.s AND x.tt = e.tt AND x.t = e.t AND x.d = p.d + 1
            ) SELECT st, s, tt, t, min(nodes) AS nodes FROM path GROUP BY st, s, tt, t"""
        )
        # The last hop of a cycle leads from a node that is one hop less away.
        run(
            f"""CREATE TABLE {name}_cycle AS
            SELECT b.st, b.s, min(list_append(p.nodes, {{'id': b.s, 't': b.st}})) AS nodes
            FROM {name}_back b JOIN {name}_step e ON e.tt = b.st AND e.t = b.s
            JOIN {name}_path p ON p.st = b.st AND p.s = b.s AND p.tt = e.st AND p.t = e.s AND len(p.nodes) = b.d
            GROUP BY b.st, b.s"""
        )


def _pairs(way: Way, *, undirected: bool, cost: bool = False, least: int | None = None) -> str:
    ends = ("dst", "src") if way.against else ("src", "dst")
    more = ", abs(w) + 1 AS cost, id AS edge" if cost else ""
    kept = "" if least is None else f" WHERE w >= {least}"
    forward = (
        f"SELECT '{way.start}' AS st, {ends[0]} AS s, '{way.end}' AS tt, {ends[1]} AS t{more} FROM {way.edge}{kept}"
    )
    if not undirected or way.start != way.end:
        return forward
    return f"{forward} UNION SELECT '{way.end}', {ends[1]}, '{way.start}', {ends[0]}{more} FROM {way.edge}{kept}"


def _joins(way: Way, step: Step, edge: str) -> str:
    left, right = f'"{step.left}"', f'"{step.right}"'
    ends = ("dst", "src") if way.against else ("src", "dst")
    types = f"{edge}._t = '{way.edge}' AND {left}._t = '{way.start}' AND {right}._t = '{way.end}'"
    forward = f"{edge}.{ends[0]} = {left}.id AND {edge}.{ends[1]} = {right}.id"
    if not step.undirected or way.start != way.end:
        return f"({types} AND {forward})"
    backward = f"{edge}.{ends[1]} = {left}.id AND {edge}.{ends[0]} = {right}.id"
    return f"({types} AND ({forward} OR {backward}))"


def _map(values: dict[str, object], stored: str) -> str:
    """A constant map; the keys are plain names."""
    shown = [
        "NULL" if value is None else str(value) if stored == "BIGINT" else "'" + str(value).replace("'", "''") + "'"
        for value in values.values()
    ]
    items = [f"'{key}': CAST({value} AS {stored})" for key, value in zip(values, shown, strict=True)]
    return "MAP {" + ", ".join(items) + "}"
