-- Health of a MachineHealthCheck: a broken node is not a failed rollout. Argo CD's own rule calls one of 400 Degraded.
return {status = "Healthy", message = ""}
