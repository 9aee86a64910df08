"""The program behind ./lab. __main__.py lists its files."""
