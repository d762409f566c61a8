"""Environments: adapters between the rules and the interfaces of RL libraries."""
