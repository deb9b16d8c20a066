"""The Model Context Protocol side: stored queries as tools, schema and branches as resources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.errors import BadRequest, OmnigraphError
from omnigraph.mcp.parameters import input_schema
from omnigraph.mcp.source import ToolSource

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

_SCHEMA = "omnigraph://schema"
_BRANCHES = "omnigraph://branches"
_COMMITS = "omnigraph://commits"
_INSTRUCTIONS = (
    "Tools of one typed graph: its stored queries and the graph_ tools. Call graph_describe, or read the schema,"
    " before you guess what a property means. Changes are proposed on a branch and merged by a person."
)


def tool_server(source: ToolSource, version: str) -> Server[Any]:
    """A protocol server that offers one graph; BadRequest when the SDK is not installed."""
    try:
        from mcp import types
        from mcp.server.lowlevel import Server
    except ImportError as error:
        raise BadRequest("agents need the MCP SDK; install it with: pip install 'omnigraph[mcp]'") from error

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(types, entry) for entry in await source.catalog()])

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            found = await source.run(params.name, params.arguments or {})
        except OmnigraphError as error:
            # A refusal is an answer that the agent can read and act upon, not a failure of the protocol.
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], is_error=True)
        text = json.dumps(found, ensure_ascii=False)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=found)

    async def list_resources(_: Any, __: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(name="schema", uri=_SCHEMA, description="the graph's schema", mime_type="text/plain"),
                types.Resource(
                    name="branches", uri=_BRANCHES, description="the graph's branches", mime_type="application/json"
                ),
                types.Resource(
                    name="commits", uri=_COMMITS, description="the newest commits", mime_type="application/json"
                ),
            ]
        )

    async def read_resource(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if params.uri == _SCHEMA:
            found = types.TextResourceContents(uri=_SCHEMA, mime_type="text/plain", text=await source.schema())
        elif params.uri == _BRANCHES:
            names = json.dumps(await source.branches())
            found = types.TextResourceContents(uri=_BRANCHES, mime_type="application/json", text=names)
        elif params.uri == _COMMITS:
            commits = json.dumps(await source.history(), ensure_ascii=False)
            found = types.TextResourceContents(uri=_COMMITS, mime_type="application/json", text=commits)
        else:
            raise ValueError(f"there is no resource '{params.uri}'")
        return types.ReadResourceResult(contents=[found])

    return Server(
        "omnigraph",
        version=version,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def _tool(types: Any, entry: Mapping[str, Any]) -> Any:
    """One stored query; its instruction tells the agent when to use it."""
    said = [entry[name] for name in ("description", "instruction") if entry.get(name)]
    hints = types.ToolAnnotations(read_only_hint=not entry["mutation"], open_world_hint=False)
    return types.Tool(
        name=entry["tool_name"],
        description=" ".join(said) or None,
        input_schema=entry.get("input_schema") or input_schema(entry["params"], writes=entry["mutation"]),
        annotations=hints,
    )


async def serve_stdio(source: ToolSource, version: str) -> None:
    """Speak the protocol on stdin and stdout until the other side goes away."""
    server = tool_server(source, version)
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
