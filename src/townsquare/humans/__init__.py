"""Human data: trajectories of people, belief rules fitted to them, and judges compared with their labels."""
