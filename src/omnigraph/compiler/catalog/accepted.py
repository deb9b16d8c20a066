"""The schema that a graph has accepted: its source, its identities, and the three files it is stored as."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from omnigraph.compiler.catalog import codec
from omnigraph.compiler.catalog.assemble import assemble
from omnigraph.compiler.catalog.build import Draft, build_draft
from omnigraph.compiler.catalog.decode_ir import decode_ir
from omnigraph.compiler.catalog.identity import Resolved, mint
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.catalog.shape import InterfaceShape, SchemaShape, TypeShape
from omnigraph.compiler.decode import to_source
from omnigraph.compiler.diagnostics import CompileError, Diagnostic
from omnigraph.compiler.schema.parse import parse_schema
from omnigraph.compiler.source import Source
from omnigraph.errors import BadRequest, Conflict
from omnigraph.ids import is_ulid


@dataclass(frozen=True)
class Accepted:
    """An accepted schema; everything else is derived from these fields."""

    source: str
    domain: str
    shape: SchemaShape
    next_id: int
    diagnostics: tuple[Diagnostic, ...] = ()

    @cached_property
    def ir(self) -> dict[str, Any]:
        """The identity-bearing IR as JSON values."""
        return codec.encode_ir(self.shape, domain=self.domain, next_id=self.next_id)

    @cached_property
    def ir_json(self) -> str:
        """The text of `_schema.ir.json`."""
        return codec.pretty(self.ir)

    @cached_property
    def state(self) -> dict[str, Any]:
        """The content of `__schema_state.json`."""
        return codec.encode_state(shape_hash=self.shape_hash, ir_hash=self.ir_hash, domain=self.domain)

    @cached_property
    def ir_hash(self) -> str:
        """`schema_ir_hash`."""
        return codec.ir_hash(self.ir)

    @cached_property
    def shape_hash(self) -> str:
        """`schema_shape_hash`."""
        return codec.shape_hash(self.shape)

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog with identities, hashes, and keys in the order of their property ids."""
        return assemble(self.shape, ir_hash=self.ir_hash)

    @cached_property
    def draft(self) -> Draft:
        """The source once more as a draft: who supplies which property is written nowhere else."""
        return draft_of(self.source)


def draft_of(text: Source | str | bytes, *, name: str = "<string>") -> Draft:
    """A schema text, parsed and checked."""
    source = to_source(text, code="S000", name=name)
    return build_draft(parse_schema(source), source)


def compile_schema(text: Source | str | bytes, *, name: str = "<string>") -> Catalog:
    """The catalog of a schema text, without identity: ids are 0 and keys are in alphabetical order."""
    return assemble(draft_of(text, name=name).shape)


def accept_schema(text: Source | str | bytes, *, domain: str) -> Accepted:
    """The schema of a new graph, with fresh identities in this domain."""
    if not is_ulid(domain):
        raise BadRequest(f"a schema identity domain is a ULID, not '{domain}'")
    draft = draft_of(text)
    return accepted_from(draft, mint(draft), domain)


def accepted_from(draft: Draft, resolved: Resolved, domain: str) -> Accepted:
    """A draft together with the identities found for it."""
    return Accepted(draft.source.text, domain, resolved.shape, resolved.next_id, resolved.notices)


def decode_accepted(ir_json: str | bytes, source: str | bytes) -> Accepted:
    """The accepted schema from its stored files; Corrupt or Conflict when they cannot be believed."""
    stored = decode_ir(ir_json)
    try:
        draft = draft_of(source, name="_schema.pg")
    except CompileError as problem:
        raise Conflict(f"the stored schema source does not compile: {problem.summary}") from problem
    # The source passed every check, so an equal shape makes the stored IR as sound as the source.
    if without_identity(stored.shape) != draft.shape:
        raise Conflict("the schema source does not match the accepted schema IR; restore the file as it was accepted")
    return Accepted(draft.source.text, stored.domain, stored.shape, stored.next_id)


def without_identity(shape: SchemaShape) -> SchemaShape:
    """The same shape with every id removed."""

    def strip(each: TypeShape) -> Any:
        properties = tuple(replace(prop, property_id=0) for prop in each.properties)
        if isinstance(each, InterfaceShape):
            return replace(each, properties=properties, type_id=0)
        return replace(each, properties=properties, type_id=0, incarnation_id=0)

    return SchemaShape(
        tuple(strip(each) for each in shape.interfaces),
        tuple(strip(each) for each in shape.nodes),
        tuple(strip(each) for each in shape.edges),
    )
