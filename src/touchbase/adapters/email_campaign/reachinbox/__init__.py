"""ReachInbox."""
