"""What happens at test time: embedding and decision."""
