"""Describe a study as reviewers ask for it: ODD+D from settings, schema and record, and the PIMMUR checklist."""

from townsquare.experiments.protocol.document import Document

__all__ = ["Document"]
