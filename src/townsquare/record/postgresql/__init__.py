"""A run recorded in a schema of a PostgreSQL server.

``address`` says where, ``server`` connects and locks, ``tables`` makes what a schema holds, ``wire`` turns columns into
the binary form of ``COPY`` and back, ``recorder`` writes, ``reader`` reads. The driver, psycopg, is the extra
``postgresql``: it is imported when an address is first used.
"""
