"""What every setting means and what it is without being set; `docs/settings.md` is made from these tables."""

from __future__ import annotations

# Heading → variable → what applies without it, and what it does.
VARIABLES: dict[str, dict[str, tuple[str, str]]] = {
    "Command line": {
        "OMNIGRAPH_HOME": ("`~/.omnigraph`", "the directory of `config.yaml`, `credentials` and the shell's history"),
        "OMNIGRAPH_PROFILE": ("none", "the profile that `--profile` would name"),
        "OMNIGRAPH_TOKEN_<SERVER>": ("none", "the token for a server of the config; its name in capitals, `-` as `_`"),
        "OMNIGRAPH_BEARER_TOKEN": ("none", "the token for servers that have none of their own"),
    },
    "Queries": {
        "OMNIGRAPH_QUERY_TIMEOUT_MS": ("none; 60000 in a server", "how long one query may run; 0 lifts it"),
        "OMNIGRAPH_QUERY_MAX_ROWS": ("200000000", "rows that one step of a query may hold; 0 lifts it"),
        "OMNIGRAPH_QUERY_MAX_BYTES": (
            "a quarter of the memory, at most 8 GiB",
            "memory that one query may hold; 0 lifts it",
        ),
        "OMNIGRAPH_QUERY_MAX_HOPS": ("10000", "how far a traversal without an upper bound goes; 0 lifts it"),
        "OMNIGRAPH_TRAVERSAL_MODE": (
            "chosen per step",
            "`indexed` looks edges up, `csr` uses neighbour lists",
        ),
        "OMNIGRAPH_CACHE_DIR": ("`~/.cache/omnigraph`", "where neighbour lists of graphs on S3 are kept"),
        "OMNIGRAPH_CACHE_BYTES": ("17179869184", "how large that directory may grow"),
    },
    "Loads and maintenance": {
        "OMNIGRAPH_SPARK_MASTER": ("this machine", "the Spark cluster that runs loads, `spark://host:port`"),
        "OMNIGRAPH_MAINTENANCE_CONCURRENCY": ("8", "datasets that `optimize` and `cleanup` work on at once"),
        "OMNIGRAPH_FAILPOINTS": ("none", "for tests: where this process raises, stops or sleeps, `name=kill;…`"),
    },
    "Embeddings": {
        "OMNIGRAPH_EMBED_PROVIDER": (
            "none",
            "who turns text into vectors: `openai-compatible`, `openai`, `gemini`, `local` or `mock`",
        ),
        "OMNIGRAPH_EMBED_BASE_URL": ("the provider's", "where requests go"),
        "OMNIGRAPH_EMBED_MODEL": ("the provider's", "the model"),
        "OMNIGRAPH_EMBEDDINGS_MOCK": ("off", "`1` makes vectors from hashes, without any network, for tests"),
        "OMNIGRAPH_EMBED_TIMEOUT_MS": ("30000", "how long one request may take"),
        "OMNIGRAPH_EMBED_RETRY_ATTEMPTS": ("4", "how often a failed request is sent"),
        "OMNIGRAPH_EMBED_RETRY_BACKOFF_MS": ("200", "the first pause between two attempts; it doubles"),
        "OMNIGRAPH_EMBED_DEADLINE_MS": ("60000", "how long all attempts together may take; 0 lifts it"),
        "OMNIGRAPH_EMBED_REQUESTS_PER_MINUTE": ("no limit", "a rate that all workers of a load share"),
        "OMNIGRAPH_EMBED_CACHE": (
            "`~/.cache/omnigraph/embeddings.sqlite`",
            "the file that remembers answers, or `off`",
        ),
        "OMNIGRAPH_EMBED_CACHE_BYTES": ("1073741824", "how large that file may grow"),
    },
    "Server": {
        "OMNIGRAPH_CLUSTER": ("none", "what `--cluster` says"),
        "OMNIGRAPH_BIND": ("`127.0.0.1:8080`", "what `--bind` says"),
        "OMNIGRAPH_UNAUTHENTICATED": ("off", "serve everybody when there are no tokens"),
        "OMNIGRAPH_REQUIRE_ALL_GRAPHS": ("off", "do not start while a graph cannot be served"),
        "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": ("16", "writes that one actor may have under way, in each process"),
        "OMNIGRAPH_PER_ACTOR_BYTES_MAX": ("4294967296", "bytes of them"),
        "OMNIGRAPH_BODY_TIMEOUT_MS": ("120000", "how long a body may take to arrive"),
        "OMNIGRAPH_READ_THREADS": ("two per core, at least 8", "reads that run at once"),
        "OMNIGRAPH_WRITE_THREADS": ("32", "writes that run at once"),
        "OMNIGRAPH_SLOW_QUERY_MS": ("1000", "reads that take longer are logged and counted"),
        "OMNIGRAPH_RELOAD_MS": ("2000", "how often the applied revision of the cluster is looked at"),
        "OMNIGRAPH_CORS_ORIGINS": ("none", "origins of browsers that may call, separated by commas"),
        "OMNIGRAPH_METRICS_BIND": ("none", "an address of its own for `/metrics`, without tokens"),
        "OMNIGRAPH_LOG": ("`info`", "the level of the log, which is JSON lines on standard error"),
    },
    "Tokens": {
        "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE": ("none", 'a JSON file, `{"actor": "token", …}`'),
        "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": ("none", "the same object inline; ignored when the file is set"),
        "OMNIGRAPH_SERVER_BEARER_TOKEN": ("none", "one more token, for the actor `default`"),
        "OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET": ("none", "a secret of AWS Secrets Manager that holds the object"),
        "OMNIGRAPH_OIDC_ISSUER": ("none", "the `iss` that a token must carry; turns identity providers on"),
        "OMNIGRAPH_OIDC_AUDIENCE": ("none", "the `aud` that a token must carry"),
        "OMNIGRAPH_OIDC_JWKS": ("none", "the provider's keys: a file, or an `https://` URL"),
        "OMNIGRAPH_OIDC_ACTOR_CLAIM": ("`sub`", "the claim that names the actor"),
        "OMNIGRAPH_OIDC_TENANT_CLAIM": ("none", "the claim that names the tenant"),
        "OMNIGRAPH_OIDC_GROUPS_CLAIM": ("none", "the claim that lists groups of the bundle which the actor belongs to"),
        "OMNIGRAPH_OIDC_LEEWAY_SECONDS": ("60", "how far clocks may differ"),
    },
    "Of others": {
        "AWS_ACCESS_KEY_ID": ("none", "credentials for `s3://` graphs"),
        "AWS_SECRET_ACCESS_KEY": ("none", "the same"),
        "AWS_SESSION_TOKEN": ("none", "the same, when they are temporary"),
        "AWS_REGION": ("none", "the region of the bucket"),
        "AWS_ENDPOINT_URL": ("AWS", "another S3 server; `AWS_ENDPOINT_URL_S3` comes first"),
        "AWS_ENDPOINT_URL_S3": ("AWS", "another S3 server"),
        "AWS_S3_FORCE_PATH_STYLE": ("off", "`true` puts the bucket into the path; so does an endpoint"),
        "AWS_ALLOW_HTTP": ("off", "`true` allows an endpoint without TLS"),
        "OPENAI_API_KEY": ("none", "the key of the providers `openai` and `openai-compatible`"),
        "OPENROUTER_API_KEY": ("none", "the key of the provider `openai-compatible`; comes first"),
        "GEMINI_API_KEY": ("none", "the key of the provider `gemini`"),
        "JAVA_HOME": ("a Java that is found or fetched", "the Java that runs Spark"),
        "SPARK_LOCAL_IP": ("`127.0.0.1`", "the address that a Spark of this process listens on"),
        "XDG_CACHE_HOME": ("`~/.cache`", "where caches and a fetched Java are kept"),
        "OTEL_EXPORTER_OTLP_ENDPOINT": ("none", "where a server sends its traces; turns them on"),
    },
}

# Fields of `omnigraph.storage.settings.Settings`, given as `og.open(…, settings=…)`.
WRITE_PROTOCOL = {
    "topology": "`multi_process`, or `single_process` where nobody else ever writes",
    "lease_ttl_ms": "how long a writer that went silent keeps others waiting",
    "lease_skew_ms": "how far the clocks of writers may differ",
    "writer_wait_ms": "how long a write waits for the one before it",
    "control_ttl_ms": "how long a branch or schema operation that went silent keeps its claim",
    "retire_grace_ms": "how long the intent of a finished write is kept",
    "publisher_retry_budget": "how often a commit is published again after losing a race",
    "reprepare_budget": "how often a write is prepared anew because the branch moved",
    "neutralize_attempts": "how often recovery tries to take back what an interrupted write left",
    "manifest_compact_fragments": "fragments of `__manifest` from which a writer folds them; 0 never does",
    "table_compact_fragments": "the same for the table that is written",
    "manifest_keep_versions": "versions of `__manifest` that stay when old ones go; 0 keeps all",
    "distribute_rows": "rows from which tables are compared and indexed by Spark",
}

# Fields of `omnigraph.server.settings.Settings`; the variables above set most of them.
SERVER = {
    "caps": "what one actor may have under way",
    "limits": "what one read may use",
    "body_seconds": "how long a body may take to arrive",
    "header_seconds": "how long the head of a request may take",
    "shutdown_seconds": "how long running requests may take to end after a signal",
    "read_threads": "reads that run at once",
    "write_threads": "writes that run at once",
    "slow_ms": "reads that take longer are logged and counted",
    "reload_seconds": "how often the applied revision is looked at",
    "cors_origins": "origins of browsers that may call",
    "metrics_bind": "an address of its own for `/metrics`",
}
