"""Programs as text: what rewrites them, and which value flows where. See notebooks 02 and 04."""
