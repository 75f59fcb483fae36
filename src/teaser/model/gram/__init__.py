"""The Gram matrix G = X'X as an operator: in memory, on a GPU, in partitions, on a cluster."""
