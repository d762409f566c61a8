"""Training and measuring players: self-play PPO, head-to-head evaluation."""
