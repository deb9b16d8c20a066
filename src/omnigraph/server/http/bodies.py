"""Request bodies: read within limits, decoded strictly, checked against a model; every failure is a refusal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.server.http.long_bodies import long_object
from omnigraph.server.http.refusal import Refusal, bad_request, refuse, resource_limit

SMALL = 1 << 20
LARGE = 32 << 20
_AT_ONCE = 16 << 10  # decoded in less than a millisecond
_LONGEST_NAME = 64

_Model = TypeVar("_Model", bound=BaseModel)
_Done = TypeVar("_Done")


async def json_body(request: Request, model: type[_Model], *, limit: int = SMALL, seconds: float) -> _Model:
    """The body as a value of the model (413, 415, 400)."""
    require_json(request)
    data = await read_body(request, limit=limit, seconds=seconds)
    return await beside_others(lambda: checked(model, strict_json(data)), len(data))


async def optional_json_body(request: Request, model: type[_Model], *, seconds: float) -> _Model:
    """A body that may be missing, or null; whatever type it claims to have."""
    data = await read_body(request, limit=SMALL, seconds=seconds)

    def decoded() -> _Model:
        document = strict_json(data) if data.strip() else None
        return checked(model, {} if document is None else document)

    return await beside_others(decoded, len(data))


async def beside_others(work: Callable[[], _Done], size: int) -> _Done:
    """Do what takes as long as the body is large: a short one at once, any other off the event loop."""
    return work() if size <= _AT_ONCE else await asyncio.to_thread(work)


async def read_body(request: Request, *, limit: int, seconds: float) -> bytes:
    """The raw body; one that is declared or turns out to be longer than the limit is refused without the rest."""

    def too_large(actual: int) -> Refusal:
        return refuse(413, f"the body has {actual} bytes or more; the limit is {limit}")

    return await _collected(request, limit, seconds, too_large)


async def read_batch(request: Request, *, seconds: float) -> bytes:
    """A graph batch, whose limit has a name of its own."""

    def too_large(actual: int) -> Refusal:
        return resource_limit("graph_batch_request_bytes", limit=LARGE, actual=actual)

    return await _collected(request, LARGE, seconds, too_large)


async def _collected(request: Request, limit: int, seconds: float, too_large: Callable[[int], Refusal]) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdecimal() and int(declared) > limit:
        raise too_large(int(declared))
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise too_large(len(body))
    except TimeoutError:
        raise Refusal(408, f"the body did not arrive within {seconds:g} seconds", "bad_request", None, _CLOSE) from None
    except ClientDisconnect:
        raise refuse(400, "the connection ended inside the body") from None
    return bytes(body)


_CLOSE = {"Connection": "close"}


def require_json(request: Request) -> None:
    """415 unless the content type is JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise refuse(415, "the content type must be application/json")


def require_ndjson(request: Request) -> None:
    """415 unless the content type is lines of JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-ndjson":
        raise refuse(415, "the content type must be application/x-ndjson")


def strict_json(data: bytes) -> Any:
    """One JSON document: UTF-8, no member twice, no NaN, no half characters."""
    try:
        if len(data) > SMALL:
            return long_object(data, strict_json)
        document = json.loads(data.decode(), object_pairs_hook=_object, parse_constant=_constant)
        if b"\\u" in data:
            json.dumps(document, ensure_ascii=False).encode()
    except UnicodeDecodeError:
        raise bad_request("the body is not UTF-8") from None
    except UnicodeEncodeError:
        raise bad_request("invalid JSON: half a surrogate pair is not a character") from None
    except RecursionError:
        raise bad_request("invalid JSON: nested too deeply") from None
    except ValueError as error:
        reason = "a number is too long" if "integer string conversion" in str(error) else error
        raise bad_request(f"invalid JSON: {reason}") from None
    return document


def unknown(what: str, name: str, known: Collection[str]) -> str:
    """The refusal of a name that a request may not have; a misspelt one would silently change its meaning."""
    shown = name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…"
    names = ", ".join(f"'{each}'" for each in sorted(known)) or "none"
    return f"unknown {what} '{shown}'; {did_you_mean(name, known) or f'known: {names}'}"


def checked(model: type[_Model], document: Any) -> _Model:
    """The document as a model; the first thing that does not fit is named."""
    if not isinstance(document, dict):
        raise bad_request("the body must be a JSON object")
    try:
        return model.model_validate(document, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise bad_request(
            _explained(first, [each.alias or name for name, each in model.model_fields.items()])
        ) from None


def _explained(finding: Any, known: list[str]) -> str:
    path = ".".join(str(part) for part in finding["loc"])
    if finding["type"] == "missing":
        return f"field '{path}' is missing"
    if finding["type"] == "extra_forbidden":
        return unknown("field", path, known)
    if finding["loc"] == ("params",):
        return "params must be a JSON object"
    return f"field '{path}': {finding['msg'][0].lower()}{finding['msg'][1:]}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        repeated = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"member '{repeated}' occurs twice")
    return found


def _constant(text: str) -> NoReturn:
    raise ValueError(f"'{text}' is not a JSON value")
