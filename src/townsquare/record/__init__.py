"""The record of a run: what a simulation writes and what everything else reads (layout: ``docs/record.md``).

``batches`` collects the rows of a step, ``content_hash`` identifies them, ``memory``, ``sqlite`` and ``postgresql``
keep them behind the three methods of ``contract``, ``places`` knows which of them a folder has, and ``run`` reads
them back.
"""
