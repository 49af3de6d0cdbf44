"""The views of MOSAIC's appendix D over a record."""
