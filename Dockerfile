# The server in a container: `docker build -t omnigraph .`, then see deploy/compose.yaml.
# A Spark cluster and what runs on it: `docker build --target spark -t omnigraph-spark .`, see deploy/kubernetes.
# `make image` builds both, with the studio, and without Docker as well; `make image-session` runs them.
FROM python:3.11-slim AS tools
# Modules are compiled here, because the user of the image cannot write beside them. What uv keeps for later is of no use.
ENV UV_PROJECT_ENVIRONMENT=/opt/omnigraph UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_NO_CACHE=1
WORKDIR /src
RUN pip install --no-cache-dir uv==0.13.7
COPY pyproject.toml uv.lock ./

# What an image imports is a layer that changes with uv.lock only; this package is a small one on top of it.
FROM tools AS server-environment
RUN uv sync --frozen --no-default-groups --no-install-project --extra server --extra client --extra mcp --extra otel --extra local

FROM tools AS spark-environment
RUN uv sync --frozen --no-default-groups --no-install-project --extra spark --extra otel --extra local

FROM tools AS package
RUN uv venv --quiet /opt/omnigraph
COPY README.md LICENSE ./
COPY src src
RUN uv build --quiet --wheel --out-dir /wheel \
  && uv pip install --no-deps --python /opt/omnigraph/bin/python --prefix /package /wheel/*.whl

FROM python:3.11-slim AS spark
RUN useradd --create-home --uid 10001 omnigraph
COPY --from=spark-environment /opt/omnigraph /opt/omnigraph
COPY --from=package /package /opt/omnigraph
COPY deploy/spark /opt/omnigraph-spark
ENV PATH=/opt/omnigraph/bin:$PATH PYSPARK_PYTHON=/opt/omnigraph/bin/python
USER 10001
WORKDIR /home/omnigraph
ENTRYPOINT ["/opt/omnigraph-spark/entrypoint.sh"]

FROM python:3.11-slim
RUN useradd --create-home --uid 10001 omnigraph
COPY --from=server-environment /opt/omnigraph /opt/omnigraph
COPY --from=package /package /opt/omnigraph
COPY deploy/entrypoint.sh /usr/local/bin/omnigraph-entrypoint
ENV PATH=/opt/omnigraph/bin:$PATH
USER 10001
WORKDIR /home/omnigraph
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["omnigraph-entrypoint"]
