"""Smartlead."""
