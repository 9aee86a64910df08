"""Our changes on an original tree: see README.md."""
