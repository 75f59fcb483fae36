"""What operators see of requests: logs, the times of their parts, traces."""
