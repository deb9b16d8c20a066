"""What every part of storage stands on: addresses, small objects on disk and on object stores, leases, failpoints.

Nothing here knows Lance, the manifest or a graph's schema.
"""
