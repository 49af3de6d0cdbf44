"""Arms times seeds: what runs, where, and how outcomes are paired. Its public face is
``townsquare.experiments.comparison``.
"""
