"""The slowdown figures of the HPCC project page (H1 to H14): curves, rules, runs and figures."""
