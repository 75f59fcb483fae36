"""Loops for a GPU that CuPy has no function for, written in CUDA C++ and compiled at first use.

Arrays that are given and returned live on the GPU, in C order. Nothing here is imported by CuPy's
name before an array of a GPU exists.
"""
