"""The probabilistic model of the paper: its three terms and the joint objective."""
