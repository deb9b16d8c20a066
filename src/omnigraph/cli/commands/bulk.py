"""Commands of the data pipeline: analytics, importers, inference and declared pipelines."""

from __future__ import annotations

from omnigraph.cli.commands import shared
from omnigraph.cli.commands.shared import BRANCH, DIRECT_SCOPE, JSON, URI
from omnigraph.cli.table.model import Argument, Capability, Command, Option

_ACTOR = frozenset({"--as"})
_RUNNER = Option("--runner", "where the work runs", "RUNNER", choices=("auto", "inline", "spark"), default="auto")
_CONFIG = Option("--config", "the directory that holds cluster.yaml", "DIR", default=".")
_PIPELINE = Argument("NAME", "a pipeline of cluster.yaml", required=True)
ALGORITHMS = ("pagerank", "components", "labels", "triangles", "degree", "distances")
IMPORTS = ("neo4j-csv", "neo4j-json", "graphml", "ntriples", "kuzu")

ANALYTICS = (
    Command(
        ("analyze",),
        Capability.DIRECT,
        "Compute a value for every node from the whole graph",
        "data.analyze.analyze",
        DIRECT_SCOPE | _ACTOR,
        (Argument("ALGORITHM", "what to compute", required=True, choices=ALGORITHMS), URI),
        (
            Option("--edge", "an edge type to follow", "TYPE", repeats=True, required=True),
            Option("--source", "distances: where to start", "ID", repeats=True),
            Option("--source-type", "distances: the node type of the sources", "TYPE"),
            Option("--direction", "which way edges are followed", "WAY", choices=("out", "in", "both")),
            Option("--depth", "distances: how far to go", "N", number=True),
            Option("--weight", "pagerank: a numeric edge property", "PROPERTY"),
            Option("--damping", "pagerank: the chance to follow an edge", "P"),
            Option("--iterations", "pagerank, labels: at most this many rounds", "N", number=True),
            Option("--top", "print this many nodes, largest values first", "N", number=True, default="20"),
            Option("--write-to", "write the values: Type.property, or edge:Type", "PLACE"),
            shared.MESSAGE,
            BRANCH,
            _RUNNER,
            shared.FORMAT,
            JSON,
        ),
        (("--format", "--json"),),
    ),
)

INTAKE = (
    Command(
        ("infer",),
        Capability.LOCAL,
        "Propose a schema and a mapping for files",
        "data.infer.infer_files",
        arguments=(
            Argument(
                "FILE",
                "CSV, TSV, JSON, Parquet, ORC, Lance, Excel, SQLite, DuckDB, or the URL of a database",
                required=True,
                repeats=True,
            ),
        ),
        options=(
            Option("--out", "write schema.pg and mapping.yaml into this directory", "DIR"),
            Option("--explain", "show what was looked at for every column"),
            Option("--draw", "draw the proposed schema into this file (.svg, .png, .html, .dot, .mmd)", "FILE"),
            Option("--sample", "look at this many rows of each input; 0 for all", "N", number=True, default="1000000"),
            Option("--no-enums", "never propose an enum"),
            JSON,
        ),
    ),
    Command(
        ("import",),
        Capability.LOCAL,
        "Import a graph of another system as one commit",
        "data.imports.import_graph",
        _ACTOR | {"--store"},
        (Argument("SOURCE", "files, directories or a database", required=True, repeats=True),),
        (
            Option("--from", "what it is", "FORMAT", choices=IMPORTS, required=True),
            Option("--into", "the graph, as --store: a new place, or one that has fitting types", "URI"),
            Option("--schema-only", "print the schema that it needs and write nothing"),
            Option(
                "--mode", "how rows are written", "MODE", choices=("append", "merge", "overwrite"), default="append"
            ),
            BRANCH,
            _RUNNER,
            shared.MESSAGE,
            JSON,
        ),
        conflicts=(("--into", "--store"),),
        either=("--into", "--store", "--schema-only"),
    ),
)

PIPELINES = (
    Command(
        ("pipeline", "list"),
        Capability.CONTROL,
        "List the pipelines of cluster.yaml",
        "operate.pipeline.list_pipelines",
        options=(_CONFIG, JSON),
    ),
    Command(
        ("pipeline", "validate"),
        Capability.CONTROL,
        "Check pipelines, their mappings and their checks",
        "operate.pipeline.validate",
        options=(_CONFIG, JSON),
    ),
    Command(
        ("pipeline", "run"),
        Capability.CONTROL,
        "Load on a branch, check it, merge it",
        "operate.pipeline.run",
        _ACTOR,
        (_PIPELINE,),
        (
            _CONFIG,
            Option("--dry-run", "check the data and write nothing"),
            Option("--force", "run even when the same input was taken in before"),
            Option("--with-dependencies", "run the pipelines first that it comes after"),
            Option("--rejects", "a .jsonl file, or a directory, for the bad records", "FILE"),
            JSON,
        ),
    ),
    Command(
        ("pipeline", "schedule"),
        Capability.CONTROL,
        "Print the schedules of pipelines as a crontab, or as DAGs of Airflow",
        "operate.pipeline.schedule",
        options=(_CONFIG, Option("--format", "cron (default) or airflow", "FORMAT", choices=("cron", "airflow"))),
    ),
    Command(
        ("pipeline", "runs"),
        Capability.CONTROL,
        "List the runs of pipelines with counts, time and commit, newest first",
        "operate.pipeline.show_history",
        arguments=(Argument("NAME", "only this pipeline"),),
        options=(_CONFIG, Option("--limit", "at most this many runs", "N", number=True), JSON),
    ),
    Command(
        ("pipeline", "history"),
        Capability.CONTROL,
        "The same as pipeline runs",
        "operate.pipeline.show_history",
        arguments=(Argument("NAME", "only this pipeline"),),
        options=(_CONFIG, Option("--limit", "at most this many runs", "N", number=True), JSON),
    ),
)
