"""The step and the run: a world that only rows change, and the stages that return rows."""
