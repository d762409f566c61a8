"""Compiling with Numba, and bits, vectors and random numbers for compiled code."""
