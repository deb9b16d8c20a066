"""The HTTP server: graphs over the wire, behind authentication, policy and admission.

Every request passes the same steps in `app`; routes call the engine, and nothing else reaches storage.
"""
