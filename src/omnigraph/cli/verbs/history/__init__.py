"""Commands on history: branches, commits, tags, differences."""
