"""Results of the converged-Ethernet study (HotI 2011): TCP over QCN, PFC and RED. ``docs/cee.md``."""
