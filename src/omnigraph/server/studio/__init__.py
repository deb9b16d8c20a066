"""The studio at /studio: its built files with their headers, and the one-time code of `omnigraph studio`.

The pages themselves are TypeScript in `studio/` at the top of the repository; `make studio` builds them into `built/`
beside this file. They use the documented HTTP API, so nothing here reads a graph.
"""
