"""Files laid out as people lay them out: comments, line ends, commas and annotations wherever the language lets them."""

from __future__ import annotations

import contextlib
import sys

import pytest

from omnigraph.compiler.catalog import Catalog, compile_schema
from omnigraph.compiler.catalog.model import Annotation
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.ir.walk import expressions
from omnigraph.compiler.query.ast import ListLiteral
from omnigraph.compiler.query.lint import lint
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.schema.format import format_schema
from omnigraph.compiler.schema.lint import lint_schema
from omnigraph.compiler.schema.parse import parse_schema

LIBRARY = """\
// ── A lending library ───────────────────────────────
node Reader
    @description("Someone with a card. \\"Guests\\" have none.")
    @instruction("Match by card, never by name.")
{
    card: String @key              // "R-0001"
    name: String @index @description("as printed on the card")
    from: Date?                    // a node may have properties called from and to
    to: [String]?
    kind: enum(adult, child,
               day-guest,          /* one day only */
               2nd-card)? @index
}

node Book {   // comment behind the brace
    isbn: String @key
    title: String @index
    blurb: String?
    when: DateTime @index
    stock: I32 @range(stock, 0..)
    shelf: String?
    blurb_vector: Vector(8)? @embed("blurb", model="library/small-2")
                             @index
    title_vector: Vector(8)? @embed(title)
    cover: Blob?
    @unique(title, shelf)
    @check(isbn, "^[0-9-]+$")
}

edge Borrowed: Reader -> Book @card(0..20) @description("open loans only") {
    since: DateTime
    @unique(src, dst)
}
edge WroteAbout: Reader -> Book
    @description("a review")
edge SequelOf: Book -> Book
"""

QUERIES = """\
/* reads */
query shelf($shelf: String)
    @description("What stands on a shelf")
    @instruction("Shelves are numbered.")
{
    match { $b: Book { shelf: $shelf, } }   // a trailing comma
    return {
        $b.isbn
        $b.title as title
        $b.stock,
    }
    order { $b.title, $b.when desc }
    limit 50
}

query late($since: DateTime, $kinds: [String]) {
    match {
        $r: Reader
        $r.kind in $kinds
        $r $loan:borrowed $b
        $loan.since < $since   // older than
        not {
            $b sequelOf{1,3} $_
        }
        not { $_ wroteAbout $b }
    }
    return { $r.name, $b.title, $loan.since }
    order { $loan.since asc }
}

query near($q: String, $v: Vector(8)) {
    match { $b: Book  search($b.blurb, $q)  fuzzy($b.title, $q, 1) }
    return { $b.title, nearest($b.blurb_vector, $v) as distance }
    order { rrf(nearest($b.blurb_vector, $v), bm25($b.blurb, $q), 30) }
    limit 5
}

query busiest() {
    match { $r: Reader  $r borrowed $b  $b <sequelof> $other  $b: Book { shelf: "A" } }
    return { $r.kind, count($b) as loans, max($b.stock) as most }
    order { loans desc, most }
    limit 3
}

// writes
query lend($card: String, $isbn: String) {
    insert Borrowed { from: $card  to: $isbn  since: now() }
    update Book set { stock: 0, shelf: "" } where isbn = $isbn
}

query enrol($card: String, $name: String, $to: [String]?, $kind: String?) {
    insert Reader {
        card: $card, name: $name,
        to: $to, kind: $kind,
    }
}

query forget($card: String) { delete Borrowed where from = $card  delete Reader where card = $card }
"""

LINE_ENDS = [
    pytest.param(lambda text: text, id="lf"),
    pytest.param(lambda text: text.replace("\n", "\r\n"), id="crlf"),
    pytest.param(lambda text: text.replace("\n", "\r\n", text.count("\n") // 2), id="mixed"),
    pytest.param(lambda text: text.replace("    ", "\t").rstrip("\n"), id="tabs-and-no-last-line-end"),
]


@pytest.fixture(scope="module")
def library() -> Catalog:
    return compile_schema(LIBRARY)


@pytest.mark.parametrize("write", LINE_ENDS)
def test_a_schema_means_the_same_whatever_its_line_ends(write, library):
    text = write(LIBRARY)
    assert compile_schema(text.encode()).shape_hash == library.shape_hash
    assert lint_schema(parse_schema(text)) == ()
    assert parse_schema(format_schema(parse_schema(text))) == parse_schema(text)


@pytest.mark.parametrize("write", LINE_ENDS)
def test_a_query_file_checks_and_lints_whatever_its_line_ends(write, library):
    text = write(QUERIES)
    report = lint(text.encode(), library, query_path="q.gq", schema_source={"kind": "file", "path": "s.pg"})
    assert [result.error for result in report.results] == [None] * 7
    assert report.errors == 0
    for query in parse_queries(text).queries:
        assert compile_query(text, library, query.name).is_mutation == (query.name in ("lend", "enrol", "forget"))


def test_annotations_over_several_lines_belong_to_what_stands_before_them(library):
    reader, book = library.nodes["Reader"], library.nodes["Book"]
    assert reader.annotations == (
        Annotation("description", 'Someone with a card. "Guests" have none.'),
        Annotation("instruction", "Match by card, never by name."),
    )
    assert reader.properties["kind"].enum == ("2nd-card", "adult", "child", "day-guest")
    assert {name: (embed.source, embed.model) for name, embed in book.embeds.items()} == {
        "blurb_vector": ("blurb", "library/small-2"),
        "title_vector": ("title", None),
    }
    assert ("blurb_vector",) in book.indices
    assert library.edges["WroteAbout"].annotations == (Annotation("description", "a review"),)


def test_the_endpoints_in_a_constraint_may_be_marked_as_stored_columns(library):
    marked = LIBRARY.replace("@unique(src, dst)", "@unique(@src, @dst)")
    assert compile_schema(marked).shape_hash == library.shape_hash
    assert parse_schema(marked) == parse_schema(LIBRARY)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("node A { src: I32 @unique(@src) }", "S000", id="a-node-has-no-endpoints"),
        pytest.param("node A {} edge E: A -> A { @unique(@id) }", "S000", id="only-the-endpoints"),
        pytest.param("node A {} edge E: A -> A { @key(@src, @dst) }", "S021", id="an-edge-has-no-key"),
    ],
)
def test_a_mark_elsewhere_is_refused(text, code):
    with pytest.raises(CompileError) as caught:
        compile_schema(text)
    assert caught.value.code == code


LONG = {
    "a list of one number": lambda n: (
        f"query q() {{ match {{ $p: A  $p.x in [{','.join(['1'] * n)}] }} return {{ 1 }} }}"
    ),
    "a list of numbers": lambda n: (
        f"query q() {{ match {{ $p: A  $p.x in [{','.join(map(str, range(n)))}] }} return {{ 1 }} }}"
    ),
    "alternatives": lambda n: f"query q() {{ match {{ $p: A  {' or '.join(['$p.x = 1'] * n)} }} return {{ 1 }} }}",
    "an unclosed string": lambda n: 'query q() { match { $p: A { x: "' + "x" * n,
    "what starts no token": lambda n: ";" * n,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_work_grows_with_the_text_and_no_faster(text):
    """Counted in calls of Python functions, which do not depend on the machine."""
    calls = [_calls_of_parsing(text(size)) for size in (1_000, 4_000)]
    assert calls[1] <= 4.2 * calls[0] + 100


def _calls_of_parsing(text):
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        with contextlib.suppress(CompileError):
            parse_queries(text)
    finally:
        sys.setprofile(None)
    return count


def test_an_item_that_is_repeated_in_a_list_is_the_same_value_every_time():
    text = 'query q() { match { $p: A  $p.x in [1, 2, 1, -1, 1, "a", true, "a", -1] } return { 1 as n } }'
    (query,) = parse_queries(text).queries
    found = [node for node in expressions(query) if isinstance(node, ListLiteral)]
    assert [item.value for item in found[0].items] == [1, 2, 1, -1, 1, "a", True, "a", -1]
    for broken in ("[1, 1,]", "[1, 1 1]", "[1, 1", "[1,, 1]", "[, 1]"):
        with pytest.raises(CompileError):
            parse_queries(f"query q() {{ match {{ $p: A  $p.x in {broken} }} return {{ 1 as n }} }}")
