"""The HPCC project page (hpcc-group.github.io/results.html, July 2020): schemes compared on 320 hosts."""
