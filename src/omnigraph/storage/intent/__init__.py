"""What a write intends, as values and as durable objects: write sets, captured states, sidecars, graph control.

States intents and never carries them out; the protocol does.
"""
