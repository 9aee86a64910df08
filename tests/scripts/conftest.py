"""Tests of ./lab and of the scripts in perf/. They measure the build that tests make."""

import os

import staging

os.environ['MEASURED_VARIANT'] = staging.VARIANTS['checked']  # perf/measuring.py
