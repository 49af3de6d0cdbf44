"""What ``forked_commands`` has in memory before its first fork: the program, its reports and its kernels."""

from contextlib import suppress
from importlib import import_module

import townsquare as ts

ALSO = ("psycopg", "pyarrow.parquet", "scipy.optimize", "scipy.sparse.csgraph")
for name in ("townsquare.cli.app", "townsquare.cli.run", "townsquare.pages.report", "townsquare.record.sqlite", *ALSO):
    with suppress(ImportError):
        import_module(name)
ts.simulate(ts.resolve_for("synthetic:20", None, ["moderation.strategy=hybrid"], agents=15, steps=2))
