"""The record of a run: what a simulation writes and what everything else reads (layout: ``docs/record.md``).

``batches`` collects the rows of a step, ``content_hash`` identifies them, ``memory`` and ``sqlite`` keep them behind
the three methods of ``contract``, and ``run`` reads them back.
"""
