"""Three-way merge, conflicts and their resolution, revert and cherry-pick.

Ends in a write set, like every other write.
"""
