"""HeyReach."""
