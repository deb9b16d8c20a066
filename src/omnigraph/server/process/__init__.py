"""Starting and running a server: deployments, workers, reload, shutdown."""
