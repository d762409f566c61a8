"""Many games at once: ``BatchedGame`` on the CPU's threads or an NVIDIA GPU, and playouts."""
