"""What the commands do, one module per group; nothing here is imported before its command is called.

Each function takes a parsed call and returns an exit code.
"""
