"""The data pipeline: bulk work as tasks, on Spark or in this process; any amount of data, one atomic commit.

`runners` is what the engine gets to see of it. Spark itself is started by the first job.
"""
