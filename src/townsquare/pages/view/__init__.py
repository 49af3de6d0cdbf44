"""The viewer: a local page over recorded runs, read-only, live while a run goes on. ``townsquare view`` starts it.

The sources of the page are in ``viewer/``; ``make viewer`` builds them into ``view/static/``, which is part of the
package, so that nobody who installs it needs Node.
"""
