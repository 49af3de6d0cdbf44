"""Settings of a run: layers, checks, the page that lists them. Its public face is ``townsquare.settings.resolve``."""
