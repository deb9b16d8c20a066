"""Branches and tags: creating, forking and deleting them, private ones of transactions, and which names they may have.

A branch is a ref of the manifest; what is committed on one is the work of the protocol.
"""
