"""The questions of `bench/search.py` in the language of each engine.

`efforts` says what an engine can be told to find more of what it should: from the least effort to the greatest.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq

TOP = 10
SHARE = 10  # the filter keeps this percentage
VECTOR, FILTERED, BEHIND = "vector top-10", "vector top-10, filtered", "vector top-10, behind a hop"
WORDS, HYBRID, EQUAL = "bm25 top-10", "hybrid top-10 (rrf)", "point look-up by text equality"

WORD_INDEX, VECTOR_INDEX = "the index of words", "the index of vectors"

# A question: a vector and a text, or a topic, in this order.
Ask = Callable[[list[float], str], list[str]]


class SearchEngine:
    """One engine with the documents in `folder`."""

    efforts: ClassVar[tuple[Any, ...]] = ()
    effort: Any = None

    def __init__(self, folder: Path, dim: int) -> None:
        self.dim = dim
        self.store = folder / f"docs.{type(self).__name__.lower()}"
        self.fresh = not self.store.exists()
        self.open(folder / "docs.parquet")

    def open(self, docs: Path) -> None:
        """Open the store; a fresh one gets the documents."""
        raise NotImplementedError

    def builds(self) -> tuple[tuple[str, Callable[[], object]], ...]:
        """What is built, in turn, and how."""
        return (("the indexes", self.build),)

    def build(self) -> None:
        """Build the indexes."""
        raise NotImplementedError

    def cases(self, built: str) -> dict[str, Ask]:
        """What the engine can be asked after it has built something."""
        raise NotImplementedError


class OmniGraph(SearchEngine):
    """This project: as many partitions as it measured to be needed, unless it is told another number."""

    efforts = (1, 2, 4, 8, 16, 32, 64)

    def open(self, docs: Path) -> None:
        import omnigraph as og

        self._prepared: dict[tuple[str | None, str], Any] = {}
        if not self.fresh:
            self.graph = og.open(self.store)
            return
        doc = f"code: String @key  n: I32 @index  body: String @index  near: Vector({self.dim}) @index"
        schema = f"""node Topic {{ name: String @key }}
                     node Doc {{ {doc} }}
                     edge About: Doc -> Topic"""
        self.graph = og.init(self.store, schema=schema)
        topics = pq.read_table(docs, columns=["topic"]).rename_columns(["name"]).group_by("name").aggregate([])
        self.graph.load(topics, type="Topic", runner="inline", no_build=True)
        self.graph.load(docs, type="Doc", columns={"code": "code"}, runner="inline", no_build=True)
        self.graph.load(docs, edge="About", columns={"from": "code", "to": "topic"}, runner="inline", no_build=True)

    def build(self) -> None:
        self.graph.ensure_indices()

    def cases(self, built: str) -> dict[str, Ask]:
        words = "bm25($d.body, $t)"
        return {
            VECTOR: lambda v, _: self._codes(self._near, "$d: Doc", v=v),
            FILTERED: lambda v, _: self._codes(self._near, f"$d: Doc $d.n < {SHARE}", v=v),
            BEHIND: lambda v, t: self._codes(self._near, "$d about $x $x.name = $t", v=v, t=t),
            WORDS: lambda _, t: self._codes(words, "$d: Doc", t=t),
            HYBRID: lambda v, t: self._codes(f"rrf({self._near}, {words})", "$d: Doc", v=v, t=t),
            EQUAL: lambda _, t: self._codes(None, "$d: Doc { body: $t }", t=t),
        }

    @property
    def _near(self) -> str:
        return "nearest($d.near, $v)" if self.effort is None else f"nearest($d.near, $v, {self.effort})"

    def _codes(self, rank: str | None, pattern: str, **params: Any) -> list[str]:
        ask = self._prepared.get((rank, pattern))
        if ask is None:
            kinds = {"v": f"$v: Vector({self.dim})", "t": "$t: String"}
            declared = ", ".join(kinds[name] for name in params)
            order = "" if rank is None else f"order {{ {rank} }} limit {TOP}"
            text = f"query q({declared}) {{ match {{ {pattern} }} return {{ $d.code }} {order} }}"
            ask = self._prepared[rank, pattern] = self.graph.prepare(text)
        return [row["d.code"] for row in ask(params).rows()]


class LanceDb(SearchEngine):
    """LanceDB with the indexes that it makes by default."""

    # (partitions that are searched, how many times the wanted rows are measured exactly)
    efforts = ((5, 5), (10, 10), (20, 10), (20, 30), (50, 10), (50, 30), (100, 30), (200, 100), (400, 300))

    def open(self, docs: Path) -> None:
        import lancedb

        store = lancedb.connect(self.store)
        if not self.fresh:
            self.table = store.open_table("docs")
            return
        file = pq.ParquetFile(docs)  # in batches, as its documentation has it for what is larger than memory
        self.table = store.create_table("docs", file.iter_batches(), schema=file.schema_arrow)

    def build(self) -> None:
        self.table.create_index(metric="l2", vector_column_name="near")
        for column in ("code", "n", "topic"):
            self.table.create_scalar_index(column)
        self.table.create_fts_index("body", use_tantivy=False)

    def cases(self, built: str) -> dict[str, Ask]:
        from lancedb.rerankers import RRFReranker

        def hybrid(v: list[float], t: str) -> list[str]:
            search = self.table.search(query_type="hybrid", vector_column_name="near", fts_columns="body")
            return self._codes(self._trying(search.vector(v).text(t).rerank(RRFReranker())))

        return {
            VECTOR: lambda v, _: self._codes(self._search(v)),
            FILTERED: lambda v, _: self._codes(self._search(v).where(f"n < {SHARE}", prefilter=True)),
            BEHIND: lambda v, t: self._codes(self._search(v).where(f"topic = '{t}'", prefilter=True)),
            WORDS: lambda _, t: self._codes(self.table.search(t, query_type="fts", fts_columns="body")),
            HYBRID: hybrid,
            EQUAL: lambda _, t: self._codes(self.table.search().where(f"body = '{t}'")),
        }

    def _search(self, vector: list[float]) -> Any:
        return self._trying(self.table.search(vector, vector_column_name="near"))

    def _trying(self, search: Any) -> Any:
        return search if self.effort is None else search.nprobes(self.effort[0]).refine_factor(self.effort[1])

    def _codes(self, search: Any) -> list[str]:
        found: list[str] = search.limit(TOP).select(["code"]).to_arrow()["code"].to_pylist()
        return found


class DuckVss(SearchEngine):
    """DuckDB with its extensions `vss` (an index in memory) and `fts`, as packages of PyPI have them."""

    efforts = (16, 32, 64, 128, 256, 512)

    def open(self, docs: Path) -> None:
        import duckdb

        self.store.touch()
        self.run: Any = duckdb.connect(config={"allow_unsigned_extensions": "true"})
        for name in ("vss", "fts"):
            package = import_module(f"duckdb_extension_{name}")
            (file,) = Path(str(package.__file__)).parent.glob(f"extensions/*/{name}.duckdb_extension")
            self.run.execute(f"LOAD '{file}'")
        self.run.execute(f"""CREATE TABLE docs AS
                             SELECT code, n, body, topic, near::FLOAT[{self.dim}] AS near FROM '{docs}'""")

    def builds(self) -> tuple[tuple[str, Callable[[], object]], ...]:
        words = "PRAGMA create_fts_index('docs', 'code', 'body', stemmer = 'none', stopwords = 'none')"
        return (
            (WORD_INDEX, lambda: (self.run.execute(words), self.run.execute("CREATE INDEX by_topic ON docs (topic)"))),
            (VECTOR_INDEX, lambda: self.run.execute("CREATE INDEX by_near ON docs USING HNSW (near)")),
        )

    def cases(self, built: str) -> dict[str, Ask]:
        near = f"array_distance(near, $v::FLOAT[{self.dim}])"
        nearest = f"ORDER BY {near} LIMIT {TOP}"
        words = "fts_main_docs.match_bm25(code, $t)"
        by_words = f"SELECT code, {words} AS score FROM docs WHERE score IS NOT NULL ORDER BY score DESC LIMIT {TOP}"
        if built == WORD_INDEX:
            return {
                WORDS: lambda _, t: self._codes(by_words, t=t),
                EQUAL: lambda _, t: self._codes("SELECT code FROM docs WHERE body = $t", t=t),
            }
        return {
            VECTOR: lambda v, _: self._codes(f"SELECT code FROM docs {nearest}", v=v),
            FILTERED: lambda v, _: self._codes(f"SELECT code FROM docs WHERE n < {SHARE} {nearest}", v=v),
            BEHIND: lambda v, t: self._codes(f"SELECT code FROM docs WHERE topic = $t {nearest}", v=v, t=t),
        }

    def _codes(self, text: str, **params: Any) -> list[str]:
        if self.effort is not None:
            self.run.execute(f"SET hnsw_ef_search = {self.effort}")
        return [row[0] for row in self.run.execute(text, params).fetchall()]


class Kuzu(SearchEngine):
    """The last release of kuzu, which has its extensions built in; those of its successor are not on PyPI."""

    efforts = (25, 50, 100, 200, 300, 600, 1_200)

    def open(self, docs: Path) -> None:
        import kuzu

        self.run: Any = kuzu.Connection(kuzu.Database(str(self.store)))
        for name in ("VECTOR", "FTS"):
            self.run.execute(f"LOAD {name}")
        if self.fresh:
            columns = f"code STRING PRIMARY KEY, n INT32, body STRING, topic STRING, near FLOAT[{self.dim}]"
            self.run.execute(f"CREATE NODE TABLE Doc ({columns})")
            self.run.execute(f"COPY Doc FROM (LOAD FROM '{docs}' RETURN code, n, body, topic, near)")

    def builds(self) -> tuple[tuple[str, Callable[[], object]], ...]:
        words = "CALL CREATE_FTS_INDEX('Doc', 'by_body', ['body'], stemmer := 'none')"
        vectors = "CALL CREATE_VECTOR_INDEX('Doc', 'by_near', 'near', metric := 'l2')"
        return ((WORD_INDEX, lambda: self.run.execute(words)), (VECTOR_INDEX, lambda: self.run.execute(vectors)))

    def cases(self, built: str) -> dict[str, Ask]:
        words = f"CALL QUERY_FTS_INDEX('Doc', 'by_body', $t, top := {TOP}) RETURN node.code, score ORDER BY score DESC"
        if built == WORD_INDEX:
            return {
                WORDS: lambda _, t: self._codes(words, t=t),
                EQUAL: lambda _, t: self._codes("MATCH (d:Doc) WHERE d.body = $t RETURN d.code", t=t),
            }
        self.run.execute(f"CALL PROJECT_GRAPH_CYPHER('Few', 'MATCH (d:Doc) WHERE d.n < {SHARE} RETURN d')")
        return {VECTOR: lambda v, _: self._nearest("Doc", v), FILTERED: lambda v, _: self._nearest("Few", v)}

    def _nearest(self, graph: str, vector: list[float]) -> list[str]:
        more = "" if self.effort is None else f", efs := {self.effort}"
        text = f"CALL QUERY_VECTOR_INDEX('{graph}', 'by_near', $v, {TOP}{more}) RETURN node.code ORDER BY distance"
        return self._codes(text, v=vector)

    def _codes(self, text: str, **params: Any) -> list[str]:
        return [row[0] for row in self.run.execute(text, params).get_all()]


class Tantivy(SearchEngine):
    """Words only."""

    def open(self, docs: Path) -> None:
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_text_field("code", stored=True, tokenizer_name="raw")
        builder.add_text_field("body")
        self.store.mkdir(exist_ok=True)
        self.index = tantivy.Index(builder.build(), path=str(self.store))
        self._docs = docs

    def build(self) -> None:
        from tantivy import Document

        writer = self.index.writer(256_000_000)
        table = pq.read_table(self._docs, columns=["code", "body"])
        for batch in table.to_batches(max_chunksize=10_000):
            for code, body in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                writer.add_document(Document(code=code, body=body))
        writer.commit()
        writer.wait_merging_threads()

    def cases(self, built: str) -> dict[str, Ask]:
        self.index.reload()
        searcher = self.index.searcher()

        def words(_: list[float], t: str) -> list[str]:
            found = searcher.search(self.index.parse_query(t, ["body"]), TOP).hits
            return [searcher.doc(place)["code"][0] for _, place in found]

        return {WORDS: words}


ENGINES: dict[str, type[SearchEngine]] = {
    "omnigraph": OmniGraph,
    "lancedb": LanceDb,
    "duckdb": DuckVss,
    "kuzu": Kuzu,
    "tantivy": Tantivy,
}
TITLES = {
    "omnigraph": "omnigraph",
    "lancedb": "LanceDB 0.40",
    "duckdb": "DuckDB 1.5 (vss, fts)",
    "kuzu": "kuzu 0.11.3",
    "tantivy": "tantivy 0.27",
}
