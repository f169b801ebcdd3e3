-- Health of a Cluster (Cluster API v1.13.6, v1beta2). Argo CD's own rule looks for a condition Ready, which v1beta2 does
-- not have.
local spec, status, available = obj.spec or {}, obj.status or {}, false
for _, each in ipairs(status.conditions or {}) do
  if each.type == "Available" then available = each.status == "True" end
end
if obj.metadata.deletionTimestamp ~= nil then return {status = "Progressing", message = "it is being deleted"} end
if spec.paused then return {status = "Suspended", message = "paused"} end
if status.observedGeneration ~= obj.metadata.generation or status.phase ~= "Provisioned" or not available then
  return {status = "Progressing", message = "it is not available at this generation"}
end
return {status = "Healthy", message = ""}
