"""What a misspelt function may have meant."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.compiler.diagnostics import did_you_mean, nearest_name
from omnigraph.compiler.functions import FUNCTIONS

# What other languages call ours.
_ELSEWHERE = {
    "tolower": "lower",
    "lcase": "lower",
    "toupper": "upper",
    "ucase": "upper",
    "len": "length",
    "char_length": "length",
    "strlen": "length",
    "substr": "substring",
    "ltrim": "trim_start",
    "rtrim": "trim_end",
    "lpad": "pad_left",
    "rpad": "pad_right",
    "ceiling": "ceil",
    "log": "ln",
    "power": "pow",
    "ifnull": "coalesce",
    "nvl": "coalesce",
    "isnull": "is null",
    "datediff": "date_diff",
    "dateadd": "date_add",
    "strftime": "format_date",
    "strptime": "parse_date",
    "extract": "year, month, day and so on",
    "dayofweek": "weekday",
    "dow": "weekday",
    "mean": "avg",
    "average": "avg",
    "stddev_samp": "stddev",
    "std": "stddev",
    "var": "variance",
    "quantile": "percentile",
    "percentile_cont": "percentile",
    "array_length": "size",
    "list_length": "size",
    "regexp_extract": "regex_extract",
    "regexp_replace": "regex_replace",
    "haversine": "geo_distance",
    "point_distance": "geo_distance",
    "cast": "to_int, to_float, to_string, to_date or to_datetime",
    "tointeger": "to_int",
    "int": "to_int",
    "float": "to_float",
    "str": "to_string",
    "tostring": "to_string",
    "labels": "type",
    "label": "type",
    "count_if": "count(* where …)",
}


def unknown_function(word: str, special: Iterable[str]) -> str:
    """Help for a call of something that does not exist."""
    if word == "not":
        return "write not { … } for a pattern, or not (…) for a condition"
    ours = _ELSEWHERE.get(word.lower().replace("_", "")) or _ELSEWHERE.get(word.lower())
    if ours is not None:
        return f"it is called {ours} here"
    known = [*FUNCTIONS, *special]
    meant = did_you_mean(word, known)
    if meant is None and (other := nearest_name(word, _ELSEWHERE)) is not None:
        return f"'{other}' is called {_ELSEWHERE[other]} here"
    return meant or "docs/reference/query.md lists the functions"
