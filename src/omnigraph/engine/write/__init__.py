"""Mutations and loads to validated write sets, with the one validator of writes.

Publishes nothing itself: the commit protocol in storage does.
"""
