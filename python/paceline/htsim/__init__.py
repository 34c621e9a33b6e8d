"""Files of htsim (Broadcom/csg-htsim): connection matrices and topologies, turned into scenarios."""
