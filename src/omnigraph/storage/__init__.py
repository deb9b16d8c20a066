"""Durable state: objects, Lance datasets, the manifest, the commit protocol and maintenance, each in a sub-package.

Knows Arrow and Lance; knows neither the catalog nor queries. The order of the sub-packages, each using only those
before it: base, lance, manifest, intent, branches, protocol,
maintenance, transfer.
"""
