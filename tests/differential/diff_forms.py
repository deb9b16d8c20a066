"""The table of expression forms: what each one takes and gives, and how it reads in the language and in SQL.

To cover a new function, add a line. `{0}`, `{1}` … are the arguments; families are those of `diff_world`. `number` takes any
family of numbers, and `truth` is what a condition is. An argument in SQL has the type that its family is stored as.
"""

from __future__ import annotations

from dataclasses import dataclass

NUMBERS = ("int", "large", "float", "single")
ORDERED = (*NUMBERS, "text", "words", "bool", "date", "instant")


@dataclass(frozen=True, slots=True)
class Form:
    """One way to make a value, or a condition, of others."""

    result: str
    args: tuple[str, ...]
    text: str
    sql: str


# The item that comes most often, of several the first; `{0}` is a list without nulls.
_OFTEN = "list_transform({0}, lambda x: len(list_filter({0}, lambda y: y = x)))"
MODE = "{0}[list_position(" + _OFTEN + ", list_max(" + _OFTEN + "))]"
_FIRSTS = "list_filter({0}, lambda x, i: list_position({0}, x) = i)"
# Points that are nowhere opposite each other, where the last digits of a distance would mean nothing.
_SQUARED = (
    "(power(sin(radians({2} * 30 - {0} * 30) / 2), 2) + cos(radians({0} * 30)) * cos(radians({2} * 30)) "
    "* power(sin(radians({3} * 50 - {1} * 50) / 2), 2))"
)
# A zero divisor gives null; an operand beside a float is rounded to the nearest double.
_DIVIDED = "(CAST({0} AS DOUBLE) / NULLIF(CAST({1} AS DOUBLE), 0.0::DOUBLE))"
VALUE_FORMS = (
    Form("int", ("int", "int"), "({0} + {1})", "(CAST({0} AS BIGINT) + CAST({1} AS BIGINT))"),
    Form("int", ("int", "int"), "({0} - {1})", "(CAST({0} AS BIGINT) - CAST({1} AS BIGINT))"),
    Form("int", ("int", "int"), "({0} * {1})", "(CAST({0} AS BIGINT) * CAST({1} AS BIGINT))"),
    Form("int", ("int", "int"), "({0} % {1})", "(CAST({0} AS BIGINT) % NULLIF(CAST({1} AS BIGINT), 0))"),
    Form("int", ("int",), "(-{0})", "(0 - CAST({0} AS BIGINT))"),
    Form("float", ("number", "number"), "({0} / {1})", _DIVIDED),
    Form("float", ("number", "float"), "({0} + {1})", "(CAST({0} AS DOUBLE) + CAST({1} AS DOUBLE))"),
    Form("float", ("float", "number"), "({0} - {1})", "(CAST({0} AS DOUBLE) - CAST({1} AS DOUBLE))"),
    Form("float", ("number", "float"), "({0} * {1})", "(CAST({0} AS DOUBLE) * CAST({1} AS DOUBLE))"),
    Form(
        "float", ("number", "float"), "({0} % {1})", "(CAST({0} AS DOUBLE) % NULLIF(CAST({1} AS DOUBLE), 0.0::DOUBLE))"
    ),
    # Texts.
    Form("text", ("text",), "lower({0})", "lower({0})"),
    Form("text", ("text",), "upper({0})", "upper({0})"),
    Form("text", ("text",), "reverse({0})", "reverse({0})"),
    Form("text", ("words",), 'trim(replace({0}, "oak", " "))', "trim(replace({0}, 'oak', ' '))"),
    Form("text", ("text",), "left({0}, 1)", "left({0}, 1)"),
    Form("text", ("words",), "right({0}, 3)", "right({0}, 3)"),
    Form("text", ("words",), "substring({0}, 2, 3)", "substring({0}, 3, 3)"),
    Form("text", ("text", "text"), "({0} + {1})", "({0} || {1})"),
    Form("text", ("text", "text"), 'concat({0}, "-", {1})', "({0} || '-' || {1})"),
    Form("text", ("text", "text"), "coalesce({0}, {1})", "COALESCE({0}, {1})"),
    Form("text", ("text",), 'nullif({0}, "a")', "NULLIF({0}, 'a')"),
    Form("text", ("text",), 'pad_left({0}, 3, "x")', "CASE WHEN length({0}) >= 3 THEN {0} ELSE lpad({0}, 3, 'x') END"),
    Form("text", ("words",), 'regex_replace({0}, "[aeo]+", "_")', "regexp_replace({0}, '[aeo]+', '_', 'g')"),
    Form(
        "text",
        ("words",),
        'regex_extract({0}, "e(l.)", 1)',
        "CASE WHEN regexp_matches({0}, 'e(l.)') THEN regexp_extract({0}, 'e(l.)', 1) END",
    ),
    Form("text", ("int",), "to_string({0})", "CAST({0} AS VARCHAR)"),
    Form("text", ("date",), 'format_date({0}, "%d/%m/%Y")', "strftime({0}, '%d/%m/%Y')"),
    Form("text", ("bool", "text"), 'if({0}, {1}, "else")', "CASE WHEN {0} THEN {1} ELSE 'else' END"),
    Form(
        "text",
        ("int",),
        'case when {0} > 1 then "many" when {0} = 1 then "one" else "few" end',
        "CASE WHEN {0} > 1 THEN 'many' WHEN {0} = 1 THEN 'one' ELSE 'few' END",
    ),
    Form("text", ("text",), "trim_start({0})", "ltrim({0})"),
    Form("text", ("text",), 'trim_end({0} + " ")', "rtrim({0} || ' ')"),
    Form("text", ("text",), 'pad_right({0}, 3, "x")', "CASE WHEN length({0}) >= 3 THEN {0} ELSE rpad({0}, 3, 'x') END"),
    Form("text", ("text",), "repeat({0}, 2)", "({0} || {0})"),
    Form("text", ("text",), 'normalize({0}, "NFC")', "nfc_normalize({0})"),
    Form("text", ("texts",), 'join({0}, "-")', "array_to_string({0}, '-')"),
    Form("text", ("texts",), "element({0}, -1)", "{0}[-1]"),
    Form("text", ("texts",), "list_min({0})", "list_min({0})"),
    Form("text", ("text", "text"), "least({0}, {1})", "CASE WHEN {0} <= {1} THEN {0} WHEN {0} > {1} THEN {1} END"),
    Form("text", ("bool",), "to_string({0})", "CAST({0} AS VARCHAR)"),
    Form("text", ("texts",), "list_mode({0})", MODE),
    Form("text", ("texts",), "list_max({0})", "list_max({0})"),
    Form("bool", ("bool",), "to_bool(to_string({0}))", "({0})"),
    Form("bool", ("text",), "try_to_bool({0} + {0})", "CASE WHEN FALSE THEN TRUE END"),
    # Lists.
    Form("texts", ("texts",), "list_distinct({0})", _FIRSTS),
    Form("ints", ("ints",), "list_distinct({0} )", _FIRSTS),
    Form("ints", ("int", "int"), "list({0}, {1}, {0})", "CASE WHEN {0} + {1} IS NOT NULL THEN [{0}, {1}, {0}] END"),
    Form("texts", ("words",), 'split({0}, " ")', "string_split({0}, ' ')"),
    Form("texts", ("texts",), "list_sort({0})", "list_sort({0})"),
    Form("texts", ("text", "text"), "[{0}, {1}]", "CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL ELSE [{0}, {1}] END"),
    Form("ints", ("ints",), "slice({0}, 1)", "CASE WHEN {0} IS NULL THEN NULL ELSE {0}[2:] END"),
    Form("ints", ("ints",), "list_sort({0})", "list_sort({0})"),
    Form("ints", ("int",), "range(0, {0})", "CASE WHEN {0} IS NULL THEN NULL ELSE range(0, {0} + 1) END"),
    # Whole numbers.
    Form("int", ("ints",), "list_mode({0})", MODE),
    Form("int", ("int",), "to_int(to_string({0}))", "CAST({0} AS BIGINT)"),
    Form("int", ("date",), "(day({0}) * 100 + month({0}))", "(day({0}) * 100 + month({0}))"),
    Form("int", ("ints",), "list_min({0})", "list_min({0})"),
    Form("int", ("int", "int"), "least({0}, {1})", "CASE WHEN {0} <= {1} THEN {0} WHEN {0} > {1} THEN {1} END"),
    Form("int", ("date",), "month({0})", "month({0})"),
    Form("int", ("date",), "day_of_year({0})", "dayofyear({0})"),
    Form("int", ("instant",), "(second({0}) * 1000 + millisecond({0}))", "(millisecond({0}) + 0)"),
    Form("int", ("instant",), "epoch_ms({0})", "epoch_ms({0})"),
    Form("int", ("float",), "to_int(round({0}))", "CAST(round({0}) AS BIGINT)"),
    Form("int", ("float",), "sign({0})", "CAST(sign({0}) AS BIGINT)"),
    Form("int", ("text",), "length({0})", "length({0})"),
    Form("int", ("text",), 'position({0}, "b")', "(strpos({0}, 'b') - 1)"),
    Form("int", ("text",), 'size(split({0}, "a"))', "len(string_split({0}, 'a'))"),
    Form("int", ("texts",), "size({0})", "len({0})"),
    Form("int", ("ints",), "element({0}, 0)", "{0}[1]"),
    Form(
        "int", ("ints",), "list_sum({0})", "CASE WHEN {0} IS NULL THEN NULL ELSE COALESCE(list_sum({0}), 0)::BIGINT END"
    ),
    Form("int", ("ints",), "list_max({0})", "list_max({0})"),
    Form("int", ("int",), "abs({0})", "abs(CAST({0} AS BIGINT))"),
    Form("int", ("int",), "sign({0})", "CAST(sign({0}) AS BIGINT)"),
    Form("int", ("int", "int"), "greatest({0}, {1})", "CASE WHEN {0} >= {1} THEN {0} WHEN {0} < {1} THEN {1} END"),
    Form("int", ("int", "int"), "coalesce({0}, {1})", "COALESCE(CAST({0} AS BIGINT), CAST({1} AS BIGINT))"),
    Form("int", ("int", "int"), "nullif({0}, {1})", "NULLIF(CAST({0} AS BIGINT), CAST({1} AS BIGINT))"),
    Form("int", ("bool", "int"), "case when {0} then {1} end", "CASE WHEN {0} THEN CAST({1} AS BIGINT) END"),
    Form("int", ("text",), "try_to_int({0})", "TRY_CAST({0} AS BIGINT)"),
    Form("int", ("date",), "year({0})", "year({0})"),
    Form("int", ("instant",), "quarter({0})", "quarter({0})"),
    Form("int", ("date",), "week({0})", "week({0})"),
    Form("int", ("instant",), "weekday({0})", "isodow({0})"),
    Form("int", ("instant",), "(hour({0}) * 60 + minute({0}))", "(hour({0}) * 60 + minute({0}))"),
    Form("int", ("date", "date"), 'date_diff({0}, {1}, "month")', "date_diff('month', {0}, {1})"),
    Form("int", ("instant", "instant"), 'date_diff({0}, {1}, "day")', "date_diff('day', {0}, {1})"),
    # Fractions.
    Form("float", ("float",), "round({0}, 1)", "round({0}, 1)"),
    Form("float", ("float",), "floor({0})", "floor({0})"),
    Form("float", ("float",), "ceil({0})", "ceil({0})"),
    Form("float", ("int",), "sqrt({0})", "CASE WHEN {0} >= 0 THEN sqrt({0}) END"),
    Form("float", ("int",), "exp({0})", "exp(CAST({0} AS DOUBLE))"),
    Form("float", ("int",), "pow(2, {0})", "pow(2.0::DOUBLE, {0})"),
    Form("float", ("int", "float"), "if({0} > 0, {0}, {1})", "CASE WHEN {0} > 0 THEN CAST({0} AS DOUBLE) ELSE {1} END"),
    Form(
        "float", ("vector",), "l2({0}, [1.0, 0.0])", "list_distance(CAST({0} AS DOUBLE[]), [1.0::DOUBLE, 0.0::DOUBLE])"
    ),
    Form("float", ("float",), "trunc({0})", "trunc({0})"),
    Form("float", ("int",), "to_float({0})", "CAST({0} AS DOUBLE)"),
    Form("float", ("text",), "try_to_float({0})", "TRY_CAST({0} AS DOUBLE)"),
    Form("float", ("int",), "ln({0})", "CASE WHEN {0} > 0 THEN ln({0}) END"),
    Form("float", ("int",), "log10({0} + 1)", "CASE WHEN {0} > -1 THEN log10({0} + 1) END"),
    Form("float", ("int",), "log2({0} + 1)", "CASE WHEN {0} > -1 THEN log2({0} + 1) END"),
    Form("float", ("int",), "(sin({0}) + cos({0}))", "(sin({0}) + cos({0}))"),
    Form("float", ("int",), "tan({0})", "tan({0})"),
    Form("float", ("int",), "atan({0})", "atan({0})"),
    Form("float", ("int", "int"), "atan2({0}, {1})", "atan2({0}, {1})"),
    Form("float", ("int",), "asin({0})", "CASE WHEN {0} BETWEEN -1 AND 1 THEN asin({0}) END"),
    Form("float", ("int",), "acos({0})", "CASE WHEN {0} BETWEEN -1 AND 1 THEN acos({0}) END"),
    Form("float", ("int",), "(degrees({0}) + radians({0}) + pi())", "(degrees({0}) + radians({0}) + pi())"),
    Form(
        "float", ("ints",), "list_percentile({0}, 0.25)", "list_aggregate(CAST({0} AS DOUBLE[]), 'quantile_cont', 0.25)"
    ),
    Form(
        "float",
        ("vector",),
        "dot({0}, [1.0, 2.0])",
        "list_inner_product(CAST({0} AS DOUBLE[]), [1.0::DOUBLE, 2.0::DOUBLE])",
    ),
    Form(
        "float",
        ("vector",),
        "cosine({0}, [1.0, 2.0])",
        "CASE WHEN list_inner_product({0}, {0}) > 0 THEN "
        "list_cosine_similarity(CAST({0} AS DOUBLE[]), [1.0::DOUBLE, 2.0::DOUBLE]) END",
    ),
    Form("float", ("int",), "to_float(to_string({0}))", "CAST({0} AS DOUBLE)"),
    Form(
        "float",
        ("int", "int", "int", "int"),
        "geo_distance({0} * 30, {1} * 50, {2} * 30, {3} * 50)",
        f"(2 * 6371008.8::DOUBLE * asin(sqrt({_SQUARED})))",
    ),
    # Dates and instants.
    Form("date", ("date",), "to_date(to_string({0}))", "{0}"),
    Form("instant", ("date",), "to_datetime({0})", "CAST({0} AS TIMESTAMP)"),
    Form("instant", ("text",), "try_to_datetime({0})", "TRY_CAST({0} AS TIMESTAMP)"),
    Form("instant", ("date",), 'parse_date(format_date({0}, "%j of %Y"), "%j of %Y")', "CAST({0} AS TIMESTAMP)"),
    Form("instant", ("text",), 'try_parse_date({0}, "%Y")', "CASE WHEN FALSE THEN TIMESTAMP '2020-01-01' END"),
    Form("date", ("date",), 'date_trunc({0}, "quarter")', "CAST(date_trunc('quarter', {0}) AS DATE)"),
    Form("date", ("date",), 'date_trunc({0}, "week")', "CAST(date_trunc('week', {0}) AS DATE)"),
    Form("date", ("text",), "try_to_date({0})", "TRY_CAST({0} AS DATE)"),
    Form("date", ("date", "date"), "greatest({0}, {1})", "CASE WHEN {0} >= {1} THEN {0} WHEN {0} < {1} THEN {1} END"),
    Form("date", ("bool", "date"), "if({0}, {1}, null)", "CASE WHEN {0} THEN {1} END"),
    Form("date", ("date",), 'date_trunc({0}, "month")', "CAST(date_trunc('month', {0}) AS DATE)"),
    Form("date", ("date",), '({0} + duration("P1M"))', "CAST({0} + INTERVAL 1 MONTH AS DATE)"),
    Form("date", ("date", "int"), 'date_add({0}, {1}, "day")', "({0} + CAST({1} AS INTEGER))"),
    Form("date", ("instant",), "date({0})", "CAST({0} AS DATE)"),
    Form("instant", ("instant",), 'date_trunc({0}, "hour")', "date_trunc('hour', {0})"),
    Form("instant", ("date",), "datetime({0})", "CAST({0} AS TIMESTAMP)"),
    Form("instant", ("instant",), '({0} - duration("PT90M"))', "({0} - INTERVAL 90 MINUTE)"),
    # Conditions as values.
    Form("bool", ("int", "int"), "({0} < {1})", "({0} < {1})"),
    Form("bool", ("text",), "({0} is null)", "({0} IS NULL)"),
    Form("bool", ("bool",), "(not {0})", "(NOT {0})"),
    Form("bool", ("bool", "int"), "({0} or {1} = 2)", "({0} OR {1} = 2)"),
    Form("bool", ("bool", "int"), "({0} and {1} = 2)", "({0} AND {1} = 2)"),
)

_TOKENS = "list_filter(regexp_split_to_array(lower({0}), '[^a-z]+'), lambda x: x <> '')"
_ASKED = "list_filter(regexp_split_to_array(lower({1}), '[^a-z]+'), lambda x: x <> '')"
# Text predicates are never null: a missing text matches nothing.
_SEARCH = f"COALESCE(len(list_intersect({_TOKENS}, {_ASKED})) > 0, FALSE)"
_FUZZY = f"COALESCE(len(list_filter({_TOKENS}, lambda t: len(list_filter({_ASKED}, lambda q: levenshtein(t, q) <= %d)) > 0)) > 0, FALSE)"
_ALL_WORDS = (
    f"COALESCE(len(list_filter({_ASKED}, lambda q: NOT list_contains({_TOKENS}, q))) = 0 AND {{0}} IS NOT NULL, FALSE)"
)
_PHRASE = f"COALESCE(contains(' ' || array_to_string({_TOKENS}, ' ') || ' ', ' ' || array_to_string({_ASKED}, ' ') || ' '), FALSE)"
_PREFIX = f"COALESCE(len(list_filter({_TOKENS}, lambda t: len(list_filter({_ASKED}, lambda q: starts_with(t, q))) > 0)) > 0, FALSE)"
_MEMBER = "CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL ELSE list_contains({1}, {0}) END"
TRUTH_FORMS = (
    Form("truth", ("text", "text"), "{0} contains {1}", "contains({0}, {1})"),
    Form("truth", ("text", "text"), "{0} starts_with {1}", "starts_with({0}, {1})"),
    Form("truth", ("text", "text"), "{0} ends_with {1}", "suffix({0}, {1})"),
    Form("truth", ("text", "text"), "{0} icontains {1}", "contains(lower({0}), lower({1}))"),
    Form("truth", ("text", "text"), "{0} istarts_with {1}", "starts_with(lower({0}), lower({1}))"),
    Form("truth", ("text", "text"), "{0} iends_with {1}", "suffix(lower({0}), lower({1}))"),
    Form("truth", ("words",), '{0} matches "^(oak|e.m)"', "regexp_matches({0}, '^(oak|e.m)')"),
    Form("truth", ("text", "text"), "not ({0} contains {1})", "NOT contains({0}, {1})"),
    Form("truth", ("bool",), "{0} = true", "{0}"),
    Form("truth", ("bool",), "not {0}", "NOT {0}"),
    Form("truth", ("int",), "0 <= {0} < 3", "({0} >= 0 AND {0} < 3)"),
    Form("truth", ("int", "int"), "(not ({0} > {1} and {1} is not null))", "NOT ({0} > {1} AND {1} IS NOT NULL)"),
    Form("truth", ("text", "texts"), "{1} contains {0}", _MEMBER),
    Form("truth", ("text", "texts"), "{0} in {1}", _MEMBER),
    Form("truth", ("text", "texts"), "{0} not in {1}", f"NOT ({_MEMBER})"),
    Form("truth", ("int", "ints"), "{0} in {1}", _MEMBER),
    Form("truth", ("instant",), "{0} < now()", "({0} < TIMESTAMP '2026-01-01')"),
    Form("truth", ("words", "query"), "search({0}, {1})", _SEARCH),
    Form("truth", ("words", "query"), "match_text({0}, {1})", _SEARCH),
    Form("truth", ("words", "query"), "search_all({0}, {1})", _ALL_WORDS),
    Form("truth", ("words", "query"), "search_phrase({0}, {1})", _PHRASE),
    Form("truth", ("words", "query"), "search_prefix({0}, {1})", _PREFIX),
    Form("truth", ("words", "query"), "fuzzy({0}, {1})", _FUZZY % 2),
    Form("truth", ("words", "query"), "fuzzy({0}, {1}, 1)", _FUZZY % 1),
)

# Words that the analyzer leaves as they are: neither stop words nor shortened by stemming.
QUERIES = ("oak", "elm ash", "oat elk", "fit", "pine")
