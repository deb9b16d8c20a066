"""The stored side of a cluster: ledger, lock, sidecars, approvals and payloads below its root."""
