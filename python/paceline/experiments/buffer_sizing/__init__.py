"""Results of the buffer-sizing study (BS 2019): HPCC over TCP and RDMA against NewReno and DCQCN."""
