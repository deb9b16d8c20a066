# The server in a container: `docker build -t omnigraph .`, then see deploy/compose.yaml.
# A Spark cluster and what runs on it: `docker build --target spark -t omnigraph-spark .`, see deploy/kubernetes.
FROM python:3.11-slim AS build
ENV UV_PROJECT_ENVIRONMENT=/opt/omnigraph UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy
WORKDIR /src
RUN pip install --no-cache-dir uv==0.13.7
COPY pyproject.toml uv.lock README.md LICENSE ./
RUN uv sync --frozen --no-default-groups --no-install-project --extra server --extra client --extra mcp --extra otel --extra local
COPY src src
RUN uv sync --frozen --no-default-groups --no-editable --extra server --extra client --extra mcp --extra otel --extra local

FROM build AS build-spark
RUN uv sync --frozen --no-default-groups --no-editable --extra spark --extra frames --extra otel

FROM python:3.11-slim AS spark
RUN useradd --create-home --uid 10001 omnigraph
COPY --from=build-spark /opt/omnigraph /opt/omnigraph
COPY deploy/spark /opt/omnigraph-spark
ENV PATH=/opt/omnigraph/bin:$PATH PYSPARK_PYTHON=/opt/omnigraph/bin/python
USER 10001
WORKDIR /home/omnigraph
ENTRYPOINT ["/opt/omnigraph-spark/entrypoint.sh"]

FROM python:3.11-slim
RUN useradd --create-home --uid 10001 omnigraph
COPY --from=build /opt/omnigraph /opt/omnigraph
COPY deploy/entrypoint.sh /usr/local/bin/omnigraph-entrypoint
ENV PATH=/opt/omnigraph/bin:$PATH
USER 10001
WORKDIR /home/omnigraph
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["omnigraph-entrypoint"]
