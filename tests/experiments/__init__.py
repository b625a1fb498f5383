"""Tests of the reproduction of the paper."""
