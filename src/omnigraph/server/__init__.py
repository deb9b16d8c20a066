"""The HTTP server: graphs over the wire, behind authentication, policy and admission."""
