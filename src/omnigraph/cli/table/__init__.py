"""The command table's machinery: its vocabulary, the parser, help, completion and the generated reference."""
