"""Importers: what maps the export of a platform onto the tables of a scenario."""
