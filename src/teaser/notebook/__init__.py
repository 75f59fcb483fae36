"""What objects look like in a notebook, and bars of progress; plain values in, HTML out."""
