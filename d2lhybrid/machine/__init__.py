"""What this machine can do: caches, latencies, and the least time that a network can take."""
