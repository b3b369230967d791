"""Where work runs: on this machine, or on a Spark cluster."""
